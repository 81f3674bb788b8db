BEGIN TRANSACTION;
CREATE TABLE history_fact (
        id TEXT PRIMARY KEY, caller TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL, time REAL NOT NULL,
        expires REAL NOT NULL);
INSERT INTO "history_fact" VALUES('fact1','ada','the logo is blue','["brand"]',1795348800.0,1821268800.0);
CREATE TABLE history_intent_digest (
        caller TEXT NOT NULL, intent_sha TEXT NOT NULL, weights TEXT NOT NULL, oldest REAL NOT NULL,
        PRIMARY KEY (caller, intent_sha)) WITHOUT ROWID;
INSERT INTO "history_intent_digest" VALUES('ada','aaaaaaaaaaaaaaaa','{"blog.draft":9955234.08960884,"image.generate":9955234.08960884}',1795345200.0);
INSERT INTO "history_intent_digest" VALUES('ada','bbbbbbbbbbbbbbbb','{"blog.draft":9934718.22728654,"image.generate":9934718.22728654}',1795341600.0);
INSERT INTO "history_intent_digest" VALUES('bob','aaaaaaaaaaaaaaaa','{"blog.draft":9914244.64429216,"image.generate":9914244.64429216}',1795338000.0);
CREATE TABLE history_part (
        caller TEXT NOT NULL, part BIGINT NOT NULL, intent_sha TEXT NOT NULL, size INTEGER NOT NULL, time REAL NOT NULL,
        PRIMARY KEY (caller, part, intent_sha));
INSERT INTO "history_part" VALUES('ada',1,'aaaaaaaaaaaaaaaa',3,1795345200.0);
INSERT INTO "history_part" VALUES('ada',2,'aaaaaaaaaaaaaaaa',3,1795345200.0);
INSERT INTO "history_part" VALUES('ada',2,'bbbbbbbbbbbbbbbb',3,1795341600.0);
INSERT INTO "history_part" VALUES('ada',3,'aaaaaaaaaaaaaaaa',3,1795345200.0);
INSERT INTO "history_part" VALUES('ada',3,'bbbbbbbbbbbbbbbb',3,1795341600.0);
INSERT INTO "history_part" VALUES('ada',4,'bbbbbbbbbbbbbbbb',3,1795341600.0);
INSERT INTO "history_part" VALUES('bob',1,'aaaaaaaaaaaaaaaa',3,1795338000.0);
INSERT INTO "history_part" VALUES('bob',2,'aaaaaaaaaaaaaaaa',3,1795338000.0);
INSERT INTO "history_part" VALUES('bob',3,'aaaaaaaaaaaaaaaa',3,1795338000.0);
CREATE TABLE history_part_digest (
        caller TEXT NOT NULL, part BIGINT NOT NULL, members TEXT NOT NULL, oldest REAL NOT NULL,
        PRIMARY KEY (caller, part)) WITHOUT ROWID;
INSERT INTO "history_part_digest" VALUES('ada',1,'aaaaaaaaaaaaaaaa:3',1795345200.0);
INSERT INTO "history_part_digest" VALUES('ada',2,'aaaaaaaaaaaaaaaa:3 bbbbbbbbbbbbbbbb:3',1795341600.0);
INSERT INTO "history_part_digest" VALUES('ada',3,'aaaaaaaaaaaaaaaa:3 bbbbbbbbbbbbbbbb:3',1795341600.0);
INSERT INTO "history_part_digest" VALUES('ada',4,'bbbbbbbbbbbbbbbb:3',1795341600.0);
INSERT INTO "history_part_digest" VALUES('bob',1,'aaaaaaaaaaaaaaaa:3',1795338000.0);
INSERT INTO "history_part_digest" VALUES('bob',2,'aaaaaaaaaaaaaaaa:3',1795338000.0);
INSERT INTO "history_part_digest" VALUES('bob',3,'aaaaaaaaaaaaaaaa:3',1795338000.0);
CREATE TABLE history_step (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL,
        tool TEXT NOT NULL, time REAL NOT NULL, weight REAL NOT NULL, PRIMARY KEY (record_id, position));
INSERT INTO "history_step" VALUES('record1',0,'ada','aaaaaaaaaaaaaaaa','image.generate',1795345200.0,9.95523408960884250741e+06);
INSERT INTO "history_step" VALUES('record1',1,'ada','aaaaaaaaaaaaaaaa','blog.draft',1795345200.0,9.95523408960884250741e+06);
INSERT INTO "history_step" VALUES('record2',0,'ada','bbbbbbbbbbbbbbbb','image.generate',1795341600.0,9.93471822728654183412e+06);
INSERT INTO "history_step" VALUES('record2',1,'ada','bbbbbbbbbbbbbbbb','blog.draft',1795341600.0,9.93471822728654183412e+06);
INSERT INTO "history_step" VALUES('record3',0,'bob','aaaaaaaaaaaaaaaa','image.generate',1795338000.0,9914244.64429216);
INSERT INTO "history_step" VALUES('record3',1,'bob','aaaaaaaaaaaaaaaa','blog.draft',1795338000.0,9914244.64429216);
CREATE TABLE history_value (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, input TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
        value TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY (record_id, position, input));
INSERT INTO "history_value" VALUES('record1',0,'style','ada','image.generate','"photo"',1795345200.0);
INSERT INTO "history_value" VALUES('record2',0,'style','ada','image.generate','"photo"',1795341600.0);
INSERT INTO "history_value" VALUES('record3',0,'style','bob','image.generate','"photo"',1795338000.0);
CREATE TABLE plan_history (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL, outcome TEXT NOT NULL,
        cause TEXT, complexity TEXT, model TEXT NOT NULL, duration_s REAL NOT NULL, time REAL NOT NULL,
        steps TEXT NOT NULL, sketch TEXT NOT NULL);
INSERT INTO "plan_history" VALUES('record1','plan','ada','aaaaaaaaaaaaaaaa','planned',NULL,NULL,'acme/small',1.5,1795345200.0,'[[1,"image.generate","ffffffffffffffff",{"style":"photo"}],[2,"blog.draft","eeeeeeeeeeeeeeee",{}]]','[1,2,3]');
INSERT INTO "plan_history" VALUES('record2','plan','ada','bbbbbbbbbbbbbbbb','planned',NULL,NULL,'acme/small',1.5,1795341600.0,'[[1,"image.generate","ffffffffffffffff",{"style":"photo"}],[2,"blog.draft","eeeeeeeeeeeeeeee",{}]]','[2,3,4]');
INSERT INTO "plan_history" VALUES('record3','plan','bob','aaaaaaaaaaaaaaaa','planned',NULL,NULL,'acme/small',1.5,1795338000.0,'[[1,"image.generate","ffffffffffffffff",{"style":"photo"}],[2,"blog.draft","eeeeeeeeeeeeeeee",{}]]','[1,2,3]');
INSERT INTO "plan_history" VALUES('record4','plan','ada','aaaaaaaaaaaaaaaa','failed','likely_timeout',NULL,'acme/small',1.5,1795334400.0,'[]','[1,2,3]');
CREATE INDEX plan_history_caller ON plan_history (caller, time);
CREATE INDEX plan_history_expiry ON plan_history (time);
CREATE INDEX history_step_intent ON history_step (caller, intent_sha, time, tool, weight);
CREATE INDEX history_value_caller ON history_value (caller, time);
CREATE INDEX history_part_newest ON history_part (caller, part, time, intent_sha, size);
CREATE INDEX history_part_intent ON history_part (caller, intent_sha);
CREATE INDEX history_fact_caller ON history_fact (caller, time);
CREATE TRIGGER history_part_insert AFTER INSERT ON history_part WHEN NEW.intent_sha <> '' BEGIN INSERT INTO history_part_digest SELECT NEW.caller, NEW.part, group_concat(intent_sha || ':' || size, ' '), MIN(time) FROM (SELECT intent_sha, size, time FROM history_part WHERE caller = NEW.caller AND part = NEW.part ORDER BY time DESC LIMIT 16)  WHERE true ON CONFLICT (caller, part) DO UPDATE SET members = excluded.members, oldest = excluded.oldest; END;
CREATE TRIGGER history_part_update AFTER UPDATE ON history_part WHEN NEW.intent_sha <> '' BEGIN INSERT INTO history_part_digest SELECT NEW.caller, NEW.part, group_concat(intent_sha || ':' || size, ' '), MIN(time) FROM (SELECT intent_sha, size, time FROM history_part WHERE caller = NEW.caller AND part = NEW.part ORDER BY time DESC LIMIT 16)  WHERE true ON CONFLICT (caller, part) DO UPDATE SET members = excluded.members, oldest = excluded.oldest; END;
CREATE TRIGGER history_part_delete AFTER DELETE ON history_part WHEN OLD.intent_sha <> '' BEGIN DELETE FROM history_part_digest WHERE caller = OLD.caller AND part = OLD.part; INSERT INTO history_part_digest SELECT OLD.caller, OLD.part, group_concat(intent_sha || ':' || size, ' '), MIN(time) FROM (SELECT intent_sha, size, time FROM history_part WHERE caller = OLD.caller AND part = OLD.part ORDER BY time DESC LIMIT 16)  GROUP BY NULL; END;
CREATE TRIGGER history_step_insert AFTER INSERT ON history_step WHEN NEW.intent_sha <> '' BEGIN INSERT INTO history_intent_digest SELECT NEW.caller, NEW.intent_sha, json_group_object(tool, weight), MIN(oldest) FROM (SELECT tool, SUM(weight) AS weight, MIN(time) AS oldest FROM (SELECT tool, weight, time FROM history_step WHERE caller = NEW.caller AND intent_sha = NEW.intent_sha ORDER BY time DESC LIMIT 64) GROUP BY tool)  WHERE true ON CONFLICT (caller, intent_sha) DO UPDATE SET weights = excluded.weights, oldest = excluded.oldest; END;
CREATE TRIGGER history_step_update AFTER UPDATE ON history_step WHEN NEW.intent_sha <> '' BEGIN INSERT INTO history_intent_digest SELECT NEW.caller, NEW.intent_sha, json_group_object(tool, weight), MIN(oldest) FROM (SELECT tool, SUM(weight) AS weight, MIN(time) AS oldest FROM (SELECT tool, weight, time FROM history_step WHERE caller = NEW.caller AND intent_sha = NEW.intent_sha ORDER BY time DESC LIMIT 64) GROUP BY tool)  WHERE true ON CONFLICT (caller, intent_sha) DO UPDATE SET weights = excluded.weights, oldest = excluded.oldest; END;
CREATE TRIGGER history_step_delete AFTER DELETE ON history_step WHEN OLD.intent_sha <> '' BEGIN DELETE FROM history_intent_digest WHERE caller = OLD.caller AND intent_sha = OLD.intent_sha; INSERT INTO history_intent_digest SELECT OLD.caller, OLD.intent_sha, json_group_object(tool, weight), MIN(oldest) FROM (SELECT tool, SUM(weight) AS weight, MIN(time) AS oldest FROM (SELECT tool, weight, time FROM history_step WHERE caller = OLD.caller AND intent_sha = OLD.intent_sha ORDER BY time DESC LIMIT 64) GROUP BY tool)  GROUP BY NULL; END;
COMMIT;
PRAGMA user_version = 3;
