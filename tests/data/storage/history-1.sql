CREATE TABLE plan_history (
    caller TEXT NOT NULL, intent_sha TEXT NOT NULL, outcome TEXT NOT NULL, cause TEXT, complexity TEXT,
    model TEXT NOT NULL, duration_s REAL NOT NULL, time REAL NOT NULL, steps TEXT NOT NULL
);
CREATE INDEX plan_history_by_caller ON plan_history (caller, time);
CREATE INDEX plan_history_by_time ON plan_history (time);
INSERT INTO plan_history VALUES
    ('ada', 'aaaaaaaaaaaaaaaa', 'planned', NULL, 'single-action', 'm', 1.0, 1795348800.0, '[[1,"blog.draft","f"]]');
PRAGMA user_version = 1;
