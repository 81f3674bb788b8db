BEGIN TRANSACTION;
CREATE TABLE traces (
    number INTEGER PRIMARY KEY AUTOINCREMENT, call_id TEXT NOT NULL UNIQUE, is_helper INTEGER NOT NULL, trace TEXT NOT NULL
);
INSERT INTO "traces" VALUES(1,'call1',0,'{"call_id": "call1", "time": 1795348800.0, "pack": "blog.plan", "caller": "ada", "model": "acme/small", "outcome": "answered", "events": [{"at_s": 0.0, "event": "call_started"}], "parent": ""}');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('traces',1);
COMMIT;
PRAGMA user_version = 1;
