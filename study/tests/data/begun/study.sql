BEGIN TRANSACTION;
CREATE TABLE about_answer (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	answer TEXT NOT NULL, 
	CONSTRAINT pk_about_answer PRIMARY KEY (id), 
	CONSTRAINT uq_about_answer_participant_name UNIQUE (participant, name), 
	CONSTRAINT fk_about_answer_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0006');
CREATE TABLE assignment (
	id INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	position INTEGER NOT NULL, 
	shown DATETIME NOT NULL, 
	lease_until DATETIME NOT NULL, drawn TEXT, 
	CONSTRAINT pk_assignment PRIMARY KEY (id), 
	CONSTRAINT ck_assignment_status CHECK (status in ('active', 'completed', 'abandoned', 'withdrawn')), 
	CONSTRAINT fk_assignment_block FOREIGN KEY(block) REFERENCES block (number), 
	CONSTRAINT uq_assignment_participant UNIQUE (participant), 
	CONSTRAINT fk_assignment_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "assignment" VALUES(1,0,1,'completed',4,'2026-01-05 09:00:12.000000','2026-01-05 09:30:12.000000',NULL);
INSERT INTO "assignment" VALUES(2,1,2,'active',1,'2026-01-05 09:00:17.000000','2026-01-05 09:30:17.000000',NULL);
INSERT INTO "assignment" VALUES(3,2,3,'abandoned',4,'2026-01-05 09:00:29.000000','2026-01-05 09:30:29.000000',NULL);
CREATE TABLE block (
	number INTEGER NOT NULL, 
	CONSTRAINT pk_block PRIMARY KEY (number)
);
INSERT INTO "block" VALUES(0);
INSERT INTO "block" VALUES(1);
INSERT INTO "block" VALUES(2);
CREATE TABLE check_answer (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	passed BOOLEAN NOT NULL, 
	seconds FLOAT NOT NULL, 
	time DATETIME NOT NULL, 
	CONSTRAINT pk_check_answer PRIMARY KEY (id), 
	CONSTRAINT uq_check_answer_participant_position UNIQUE (participant, position), 
	CONSTRAINT fk_check_answer_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "check_answer" VALUES(1,1,1,'look',0,3.0,'2026-01-05 09:00:06.000000');
INSERT INTO "check_answer" VALUES(2,3,1,'look',0,3.0,'2026-01-05 09:00:23.000000');
CREATE TABLE event (
	id INTEGER NOT NULL, 
	time DATETIME NOT NULL, 
	participant INTEGER, 
	kind VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_event PRIMARY KEY (id), 
	CONSTRAINT fk_event_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "event" VALUES(1,'2026-01-05 09:00:00.000000',1,'consented');
INSERT INTO "event" VALUES(2,'2026-01-05 09:00:00.000000',1,'passed');
INSERT INTO "event" VALUES(3,'2026-01-05 09:00:00.000000',1,'leased');
INSERT INTO "event" VALUES(4,'2026-01-05 09:00:12.000000',1,'completed');
INSERT INTO "event" VALUES(5,'2026-01-05 09:00:12.000000',2,'consented');
INSERT INTO "event" VALUES(6,'2026-01-05 09:00:12.000000',2,'passed');
INSERT INTO "event" VALUES(7,'2026-01-05 09:00:12.000000',2,'leased');
INSERT INTO "event" VALUES(8,'2026-01-05 09:00:17.000000',3,'consented');
INSERT INTO "event" VALUES(9,'2026-01-05 09:00:17.000000',3,'passed');
INSERT INTO "event" VALUES(10,'2026-01-05 09:00:17.000000',3,'leased');
INSERT INTO "event" VALUES(11,'2026-01-05 09:00:29.000000',3,'completed');
INSERT INTO "event" VALUES(12,'2026-01-05 09:00:29.000000',3,'excluded');
CREATE TABLE exclusion (
	participant INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	time DATETIME NOT NULL, 
	CONSTRAINT pk_exclusion PRIMARY KEY (participant), 
	CONSTRAINT fk_exclusion_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "exclusion" VALUES(3,'failed a check','2026-01-05 09:00:29.000000');
CREATE TABLE page_signal (
	participant INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	honeypot BOOLEAN NOT NULL, 
	"left" INTEGER, 
	away FLOAT, 
	copied INTEGER, 
	pasted INTEGER, 
	CONSTRAINT pk_page_signal PRIMARY KEY (participant, position), 
	CONSTRAINT fk_page_signal_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
CREATE TABLE participant (
	id INTEGER NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	rater VARCHAR(64) NOT NULL, 
	platform_key VARCHAR(64), 
	panel VARCHAR(64) NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	outcome VARCHAR(16), 
	attempts INTEGER NOT NULL, 
	started DATETIME NOT NULL, 
	passed DATETIME, 
	ended DATETIME, 
	purged BOOLEAN NOT NULL, code_key VARCHAR(64), signed BOOLEAN DEFAULT 0 NOT NULL, about_due BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_participant PRIMARY KEY (id), 
	CONSTRAINT ck_participant_status CHECK (status in ('started', 'active', 'completed', 'screened_out', 'withdrawn', 'abandoned')), 
	CONSTRAINT uq_participant_key UNIQUE ("key"), 
	CONSTRAINT uq_participant_rater UNIQUE (rater), 
	CONSTRAINT uq_participant_platform_key UNIQUE (platform_key)
);
INSERT INTO "participant" VALUES(1,'oneoneoneoneoneoneoneoneoneone','p-180d78b215',NULL,'','completed','completed',1,'2026-01-05 09:00:00.000000','2026-01-05 09:00:00.000000','2026-01-05 09:00:12.000000',0,'6060378efd88162ff366d57299afe5897084652e6d08b103b64c20cd7f9ca7fe',0,0);
INSERT INTO "participant" VALUES(2,'twotwotwotwotwotwotwotwotwotwo','p-45855a6b23','7708b4b25c48da46a276040e09739ac69e022ed818a4d12e0474bdbfbce9a69a','','active',NULL,1,'2026-01-05 09:00:12.000000','2026-01-05 09:00:12.000000',NULL,0,'a1eb0bfa25063d3d9fb07bef8b56835bfa89c46d94d9a20b6ad14efe2202c406',0,0);
INSERT INTO "participant" VALUES(3,'tretretretretretretretretretre','p-540d535884',NULL,'','completed','completed',1,'2026-01-05 09:00:17.000000','2026-01-05 09:00:17.000000','2026-01-05 09:00:29.000000',0,'c30b5546ab9ed22b5adaa8a44aaf0c004a7870e1d72ed64d0b470ac5e8189e79',0,0);
CREATE TABLE second_account (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	other INTEGER, 
	kind VARCHAR(16) NOT NULL, 
	time DATETIME NOT NULL, 
	CONSTRAINT pk_second_account PRIMARY KEY (id), 
	CONSTRAINT fk_second_account_participant FOREIGN KEY(participant) REFERENCES participant (id), 
	CONSTRAINT fk_second_account_other FOREIGN KEY(other) REFERENCES participant (id)
);
CREATE TABLE study (
	id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	secrets VARCHAR(64) NOT NULL, 
	paused BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_study PRIMARY KEY (id), 
	CONSTRAINT ck_study_one CHECK (id = 1)
);
INSERT INTO "study" VALUES(1,'begun','2aed2534ed485268','3af4b60a6e99523664aa1bcf5dfdede26c4cb39bad1cc13edf6837bd7dc85290',0,'2026-01-05 09:00:00.000000');
CREATE TABLE vote (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	"query" TEXT NOT NULL, 
	verdict VARCHAR(6) NOT NULL, 
	seconds FLOAT NOT NULL, 
	confidence INTEGER, 
	reason TEXT, 
	time DATETIME NOT NULL, 
	CONSTRAINT pk_vote PRIMARY KEY (id), 
	CONSTRAINT ck_vote_verdict CHECK (verdict in ('safe', 'unsafe')), 
	CONSTRAINT ck_vote_confidence CHECK (confidence between 1 and 5), 
	CONSTRAINT uq_vote_participant_position UNIQUE (participant, position), 
	CONSTRAINT uq_vote_participant_query UNIQUE (participant, "query"), 
	CONSTRAINT fk_vote_participant FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "vote" VALUES(1,1,0,0,'72f1e703251fa57f','safe',3.0,NULL,NULL,'2026-01-05 09:00:03.000000');
INSERT INTO "vote" VALUES(2,1,2,1,'bd35bffa0b662a50','safe',3.0,NULL,NULL,'2026-01-05 09:00:09.000000');
INSERT INTO "vote" VALUES(3,1,3,2,'53f244a25fd6e7ee','safe',3.0,NULL,NULL,'2026-01-05 09:00:12.000000');
INSERT INTO "vote" VALUES(4,2,0,0,'72f1e703251fa57f','unsafe',5.0,NULL,NULL,'2026-01-05 09:00:17.000000');
INSERT INTO "vote" VALUES(5,3,0,0,'72f1e703251fa57f','safe',3.0,NULL,NULL,'2026-01-05 09:00:20.000000');
INSERT INTO "vote" VALUES(6,3,2,1,'bd35bffa0b662a50','safe',3.0,NULL,NULL,'2026-01-05 09:00:26.000000');
INSERT INTO "vote" VALUES(7,3,3,2,'53f244a25fd6e7ee','safe',3.0,NULL,NULL,'2026-01-05 09:00:29.000000');
CREATE INDEX ix_participant_status ON participant (status);
CREATE UNIQUE INDEX uq_assignment_live_block ON assignment (block) WHERE status in ('active', 'completed');
CREATE INDEX ix_assignment_status_lease_until ON assignment (status, lease_until);
CREATE INDEX ix_event_participant ON event (participant);
CREATE INDEX ix_event_kind ON event (kind);
CREATE UNIQUE INDEX uq_participant_code_key ON participant (code_key);
CREATE INDEX ix_second_account_participant ON second_account (participant);
COMMIT;
