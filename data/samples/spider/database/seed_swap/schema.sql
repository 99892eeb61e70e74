-- A seed swap between gardeners, invented for this project.
CREATE TABLE gardener (
  gardener_id INTEGER PRIMARY KEY,
  name TEXT,
  town TEXT,
  joined_year INTEGER
);

CREATE TABLE variety (
  variety_id INTEGER PRIMARY KEY,
  name TEXT,
  species TEXT,
  days_to_harvest INTEGER
);

CREATE TABLE swap (
  swap_id INTEGER PRIMARY KEY,
  giver_id INTEGER,
  receiver_id INTEGER,
  variety_id INTEGER,
  packets INTEGER,
  swap_month TEXT,
  FOREIGN KEY (giver_id) REFERENCES gardener (gardener_id),
  FOREIGN KEY (receiver_id) REFERENCES gardener (gardener_id),
  FOREIGN KEY (variety_id) REFERENCES variety (variety_id)
);

INSERT INTO gardener (gardener_id, name, town, joined_year) VALUES
  (1, 'Agnes Moor', 'Fernby', 2012),
  (2, 'Bertil Quist', 'Fernby', 2022),
  (3, 'Chiara Donati', 'Elmstead', 2018),
  (4, 'Dmitri Valk', 'Oxley', 2014),
  (5, 'Esra Tunc', 'Oxley', 2021),
  (6, 'Felix Aarden', 'Elmstead', 2023),
  (7, 'Greta Lund', 'Harrow Mill', 2009),
  (8, 'Hugo Pires', 'Harrow Mill', 2016);

INSERT INTO variety (variety_id, name, species, days_to_harvest) VALUES
  (1, 'Red Lantern', 'tomato', 78),
  (2, 'Frost King', 'kale', 60),
  (3, 'Early Ribbon', 'bean', 52),
  (4, 'Painted Pony', 'bean', 85),
  (5, 'Sun Pebble', 'tomato', 64),
  (6, 'Blue Hollow', 'kale', 70),
  (7, 'Honey Drum', 'pumpkin', 110),
  (8, 'Little Anchor', 'radish', 28),
  (9, 'Giant Lamp', 'pumpkin', 125);

INSERT INTO swap (swap_id, giver_id, receiver_id, variety_id, packets, swap_month) VALUES
  (1, 1, 3, 1, 4, '2023-02'),
  (2, 1, 4, 3, 6, '2023-02'),
  (3, 3, 1, 2, 3, '2023-03'),
  (4, 4, 5, 4, 5, '2023-03'),
  (5, 7, 2, 7, 2, '2023-03'),
  (6, 5, 4, 3, 7, '2023-04'),
  (7, 7, 8, 1, 3, '2023-04'),
  (8, 8, 7, 5, 8, '2024-01'),
  (9, 1, 6, 4, 5, '2024-02'),
  (10, 3, 2, 8, 9, '2024-02'),
  (11, 4, 1, 5, 2, '2024-02'),
  (12, 2, 3, 3, 1, '2024-03');
