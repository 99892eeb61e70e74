-- A small ferry company network, invented for this project.
CREATE TABLE vessel (
  vessel_id INTEGER PRIMARY KEY,
  name TEXT,
  operator TEXT,
  capacity INTEGER,
  built_year INTEGER
);

CREATE TABLE route (
  route_id INTEGER PRIMARY KEY,
  origin TEXT,
  destination TEXT,
  distance_km REAL
);

CREATE TABLE sailing (
  sailing_id INTEGER PRIMARY KEY,
  vessel_id INTEGER,
  route_id INTEGER,
  sail_date TEXT,
  passengers INTEGER,
  FOREIGN KEY (vessel_id) REFERENCES vessel (vessel_id),
  FOREIGN KEY (route_id) REFERENCES route (route_id)
);

INSERT INTO vessel (vessel_id, name, operator, capacity, built_year) VALUES
  (1, 'Tern', 'Norlinje', 180, 1998),
  (2, 'Gannet', 'Norlinje', 320, 2011),
  (3, 'Puffin', 'Baywater', 95, 1987),
  (4, 'Skua', 'Baywater', 240, 2004),
  (5, 'Petrel', 'Island Queen', 410, 2019),
  (6, 'Eider', 'Norlinje', 150, 1992),
  (7, 'Curlew', 'Sundfart', 275, 1995),
  (8, 'Dunlin', 'Sundfart', 60, 2016);

INSERT INTO route (route_id, origin, destination, distance_km) VALUES
  (1, 'Skarvik', 'Holmen', 12.5),
  (2, 'Holmen', 'Skarvik', 12.5),
  (3, 'Skarvik', 'Lyngsund', 41.0),
  (4, 'Lyngsund', 'Orvaag', 27.8),
  (5, 'Orvaag', 'Holmen', 63.2),
  (6, 'Holmen', 'Teistoy', 8.4),
  (7, 'Teistoy', 'Orvaag', 55.0),
  (8, 'Skarvik', 'Teistoy', 19.6);

INSERT INTO sailing (sailing_id, vessel_id, route_id, sail_date, passengers) VALUES
  (1, 1, 1, '2024-06-01', 122),
  (2, 2, 3, '2024-06-01', 298),
  (3, 3, 6, '2024-06-01', 41),
  (4, 4, 5, '2024-06-02', 187),
  (5, 1, 2, '2024-06-02', 135),
  (6, 5, 3, '2024-06-02', 352),
  (7, 6, 8, '2024-06-03', 77),
  (8, 7, 4, '2024-06-03', 204),
  (9, 2, 5, '2024-06-03', 251),
  (10, 1, 1, '2024-06-04', 168),
  (11, 4, 7, '2024-06-04', 96),
  (12, 7, 5, '2024-06-05', 230),
  (13, 3, 6, '2024-06-05', 63),
  (14, 5, 4, '2024-06-05', 389);
