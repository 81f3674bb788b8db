BEGIN TRANSACTION;
CREATE TABLE helmdeck_run_steps (run_id TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL,
    result TEXT, failure TEXT, duration_s DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION NOT NULL, PRIMARY KEY (run_id, id));
INSERT INTO "helmdeck_run_steps" VALUES('run1','one',0,'{"text":"first"}',NULL,0.5,1795348800.0);
CREATE TABLE helmdeck_runs (id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
    caller TEXT NOT NULL, state TEXT NOT NULL, executor TEXT NOT NULL, started DOUBLE PRECISION NOT NULL,
    updated DOUBLE PRECISION NOT NULL, run TEXT NOT NULL, output TEXT, failure TEXT);
INSERT INTO "helmdeck_runs" VALUES('run1','pipeline','chain','ada','succeeded','host:1:00000000',1795348800.0,1795348800.0,'{"id":"run1","kind":"pipeline","name":"chain","inputs":{},"definition":{},"caller":"ada","model":null,"key":"","max_cost_usd":null,"done":{},"resumes":""}','{"text":"done"}',NULL);
CREATE INDEX helmdeck_runs_started ON helmdeck_runs (started);
COMMIT;
PRAGMA user_version = 0;
