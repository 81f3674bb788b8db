CREATE TABLE history_schema (version INTEGER NOT NULL);
INSERT INTO history_schema VALUES (2);
CREATE TABLE plan_history (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL, outcome TEXT NOT NULL,
        cause TEXT, complexity TEXT, model TEXT NOT NULL, duration_s DOUBLE PRECISION NOT NULL, time DOUBLE PRECISION NOT NULL,
        steps TEXT NOT NULL, sketch TEXT NOT NULL);
CREATE INDEX plan_history_caller ON plan_history (caller, time);
CREATE INDEX plan_history_expiry ON plan_history (time);
CREATE TABLE history_step (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL,
        tool TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, weight DOUBLE PRECISION NOT NULL, PRIMARY KEY (record_id, position));
CREATE INDEX history_step_intent ON history_step (caller, intent_sha, time, tool, weight);
CREATE TABLE history_value (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, input TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
        value TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (record_id, position, input));
CREATE INDEX history_value_caller ON history_value (caller, time);
CREATE TABLE history_part (
        caller TEXT NOT NULL, part BIGINT NOT NULL, intent_sha TEXT NOT NULL, size INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (caller, part, intent_sha));
CREATE INDEX history_part_newest ON history_part (caller, part, time, intent_sha, size);
CREATE INDEX history_part_intent ON history_part (caller, intent_sha);
CREATE TABLE history_fact (
        id TEXT PRIMARY KEY, caller TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL, time DOUBLE PRECISION NOT NULL,
        expires DOUBLE PRECISION NOT NULL);
CREATE INDEX history_fact_caller ON history_fact (caller, time);
