"""Keys and accounts in PostgreSQL. Each step is one function of the database: one round trip, and a short lock on the account.

Every function locks the account first, so two of them never wait for each other in a circle.
"""

from __future__ import annotations

from typing import Final

TABLES: Final = (
    """CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL)""",
    # With free space in each page, an update rewrites no index.
    """CREATE TABLE gateway_accounts (
        account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count BIGINT NOT NULL) WITH (fillfactor = 50)""",
    """CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s DOUBLE PRECISION NOT NULL, held BIGINT NOT NULL,
        day TEXT NOT NULL, month TEXT NOT NULL, is_open BOOLEAN NOT NULL, PRIMARY KEY (account, call))""",
    "CREATE INDEX gateway_calls_by_end ON gateway_calls (account, is_open, until_s)",
    """CREATE TABLE gateway_starts (
        account TEXT NOT NULL, place BIGINT NOT NULL, start_s DOUBLE PRECISION NOT NULL, PRIMARY KEY (account, place))
        WITH (fillfactor = 50)""",
    """CREATE TABLE gateway_spend (
        account TEXT NOT NULL, period TEXT NOT NULL, spent BIGINT NOT NULL DEFAULT 0, held BIGINT NOT NULL DEFAULT 0,
        requests BIGINT NOT NULL DEFAULT 0, refused BIGINT NOT NULL DEFAULT 0, unpriced BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (account, period)) WITH (fillfactor = 50)""",
    # Locks the account and returns the time, which never goes back between two holders of the lock.
    """CREATE FUNCTION gateway_lock(p_account TEXT, p_now DOUBLE PRECISION) RETURNS DOUBLE PRECISION AS $$
    BEGIN
        PERFORM 1 FROM gateway_accounts WHERE account = p_account FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO gateway_accounts VALUES (p_account, 0, 0) ON CONFLICT DO NOTHING;
            PERFORM 1 FROM gateway_accounts WHERE account = p_account FOR UPDATE;
        END IF;
        RETURN coalesce(p_now, extract(epoch FROM clock_timestamp()));
    END $$ LANGUAGE plpgsql""",
    """CREATE FUNCTION gateway_add(
        p_account TEXT, p_day TEXT, p_month TEXT, p_spent BIGINT, p_held BIGINT, p_requests INTEGER, p_refused INTEGER,
        p_unpriced INTEGER) RETURNS VOID AS $$
    BEGIN
        INSERT INTO gateway_spend AS s VALUES
            (p_account, p_day, p_spent, p_held, p_requests, p_refused, p_unpriced),
            (p_account, p_month, p_spent, p_held, p_requests, p_refused, p_unpriced)
        ON CONFLICT (account, period) DO UPDATE SET
            spent = s.spent + excluded.spent, held = s.held + excluded.held, requests = s.requests + excluded.requests,
            refused = s.refused + excluded.refused, unpriced = s.unpriced + excluded.unpriced;
    END $$ LANGUAGE plpgsql""",
    # Counts what calls hold whose leases have ended as spent.
    """CREATE FUNCTION gateway_sweep(p_account TEXT, p_now DOUBLE PRECISION) RETURNS VOID AS $$
    DECLARE lost RECORD;
    BEGIN
        FOR lost IN UPDATE gateway_calls SET is_open = FALSE
            WHERE account = p_account AND is_open AND until_s <= p_now RETURNING held, day, month
        LOOP
            PERFORM gateway_add(p_account, lost.day, lost.month, lost.held, -lost.held, 0, 0, 0);
            UPDATE gateway_accounts SET under_way = under_way - 1 WHERE account = p_account;
        END LOOP;
        DELETE FROM gateway_calls WHERE account = p_account AND NOT is_open AND until_s <= p_now - 86400;
    END $$ LANGUAGE plpgsql""",
    """CREATE FUNCTION gateway_admit(
        p_account TEXT, p_call TEXT, p_now DOUBLE PRECISION, p_lease DOUBLE PRECISION, p_held BIGINT, p_rate INTEGER,
        p_window DOUBLE PRECISION, p_concurrency INTEGER, p_day BIGINT, p_month BIGINT,
        OUT o_limit TEXT, OUT o_retry DOUBLE PRECISION, OUT o_spent BIGINT, OUT o_held BIGINT) AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_account, p_now);
        v_time TIMESTAMP := to_timestamp(v_now) AT TIME ZONE 'UTC';
        v_day TEXT := to_char(v_time, 'YYYY-MM-DD');
        v_month TEXT := to_char(v_time, 'YYYY-MM');
        v_under_way INTEGER;
        v_count BIGINT;
        v_start DOUBLE PRECISION;
    BEGIN
        PERFORM gateway_sweep(p_account, v_now);
        o_limit := '';
        o_retry := 0;
        o_spent := 0;
        o_held := 0;
        IF EXISTS (SELECT 1 FROM gateway_calls WHERE account = p_account AND call = p_call) THEN
            RETURN;
        END IF;
        SELECT under_way, count INTO v_under_way, v_count FROM gateway_accounts WHERE account = p_account;
        IF p_month IS NOT NULL THEN
            SELECT spent, held INTO o_spent, o_held FROM gateway_spend WHERE account = p_account AND period = v_month;
            IF coalesce(o_spent + o_held, 0) >= p_month THEN
                o_limit := 'spend_per_month';
                o_retry := extract(epoch FROM date_trunc('month', v_time) + interval '1 month' - v_time);
                IF coalesce(o_spent, 0) < p_month THEN
                    o_retry := least(1, o_retry);
                END IF;
            END IF;
        END IF;
        IF o_limit = '' AND p_day IS NOT NULL THEN
            SELECT spent, held INTO o_spent, o_held FROM gateway_spend WHERE account = p_account AND period = v_day;
            IF coalesce(o_spent + o_held, 0) >= p_day THEN
                o_limit := 'spend_per_day';
                o_retry := extract(epoch FROM date_trunc('day', v_time) + interval '1 day' - v_time);
                IF coalesce(o_spent, 0) < p_day THEN
                    o_retry := least(1, o_retry);
                END IF;
            END IF;
        END IF;
        o_spent := coalesce(o_spent, 0);
        o_held := coalesce(o_held, 0);
        IF o_limit = '' AND v_under_way >= p_concurrency THEN
            o_limit := 'concurrency';
            o_retry := 1;
        END IF;
        IF o_limit = '' AND p_rate IS NOT NULL THEN
            SELECT start_s INTO v_start FROM gateway_starts WHERE account = p_account AND place = v_count % p_rate;
            IF v_start > v_now - p_window THEN
                o_limit := 'rate';
                o_retry := v_start + p_window - v_now;
            END IF;
        END IF;
        IF o_limit <> '' THEN
            PERFORM gateway_add(p_account, v_day, v_month, 0, 0, 0, 1, 0);
            RETURN;
        END IF;
        IF p_rate IS NOT NULL THEN
            INSERT INTO gateway_starts VALUES (p_account, v_count % p_rate, v_now)
            ON CONFLICT (account, place) DO UPDATE SET start_s = excluded.start_s;
        END IF;
        UPDATE gateway_accounts SET under_way = under_way + 1, count = count + 1 WHERE account = p_account;
        INSERT INTO gateway_calls VALUES (p_account, p_call, v_now + p_lease, p_held, v_day, v_month, TRUE);
        PERFORM gateway_add(p_account, v_day, v_month, 0, p_held, 1, 0, 0);
    END $$ LANGUAGE plpgsql""",
    """CREATE FUNCTION gateway_renew(
        p_account TEXT, p_calls TEXT[], p_held BIGINT[], p_lease DOUBLE PRECISION, p_now DOUBLE PRECISION)
        RETURNS VOID AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_account, p_now);
        v_call RECORD;
        v_more BIGINT;
    BEGIN
        PERFORM gateway_sweep(p_account, v_now);
        FOR v_call IN SELECT c.call, c.held, c.day, c.month, c.is_open, n.held AS least
            FROM unnest(p_calls, p_held) AS n(call, held) JOIN gateway_calls c ON c.account = p_account AND c.call = n.call
        LOOP
            v_more := greatest(0, v_call.least - v_call.held);
            UPDATE gateway_calls SET held = held + v_more,
                until_s = CASE WHEN v_call.is_open THEN v_now + p_lease ELSE until_s END
            WHERE account = p_account AND call = v_call.call;
            IF v_more > 0 AND v_call.is_open THEN
                PERFORM gateway_add(p_account, v_call.day, v_call.month, 0, v_more, 0, 0, 0);
            ELSIF v_more > 0 THEN
                PERFORM gateway_add(p_account, v_call.day, v_call.month, v_more, 0, 0, 0, 0);
            END IF;
        END LOOP;
    END $$ LANGUAGE plpgsql""",
    """CREATE FUNCTION gateway_settle(p_account TEXT, p_call TEXT, p_cost BIGINT, p_unpriced INTEGER)
        RETURNS BOOLEAN AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_account, NULL);
        v_call RECORD;
    BEGIN
        DELETE FROM gateway_calls WHERE account = p_account AND call = p_call RETURNING * INTO v_call;
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
        IF v_call.is_open THEN
            PERFORM gateway_add(p_account, v_call.day, v_call.month, p_cost, -v_call.held, 0, 0, p_unpriced);
            UPDATE gateway_accounts SET under_way = under_way - 1 WHERE account = p_account;
        ELSE
            PERFORM gateway_add(p_account, v_call.day, v_call.month, p_cost - v_call.held, 0, 0, 0, p_unpriced);
        END IF;
        RETURN TRUE;
    END $$ LANGUAGE plpgsql""",
    """CREATE FUNCTION gateway_usage(p_account TEXT, p_now DOUBLE PRECISION) RETURNS TABLE (
        o_under_way INTEGER, o_period INTEGER, o_spent BIGINT, o_held BIGINT, o_requests BIGINT, o_refused BIGINT,
        o_unpriced BIGINT) AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_account, p_now);
        v_time TIMESTAMP := to_timestamp(v_now) AT TIME ZONE 'UTC';
    BEGIN
        PERFORM gateway_sweep(p_account, v_now);
        RETURN QUERY SELECT a.under_way, n.place, coalesce(s.spent, 0), coalesce(s.held, 0), coalesce(s.requests, 0),
            coalesce(s.refused, 0), coalesce(s.unpriced, 0)
        FROM gateway_accounts a
        CROSS JOIN (VALUES (0, to_char(v_time, 'YYYY-MM-DD')), (1, to_char(v_time, 'YYYY-MM'))) AS n(place, period)
        LEFT JOIN gateway_spend s ON s.account = a.account AND s.period = n.period
        WHERE a.account = p_account ORDER BY n.place;
    END $$ LANGUAGE plpgsql""",
)

INSERT_KEY: Final = """
INSERT INTO gateway_keys (digest, version, record, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"""
UPDATE_KEY: Final = """
UPDATE gateway_keys SET digest = ?, version = ?, record = ? WHERE name = ? AND version = ? RETURNING 1"""
FIND_KEY: Final = "SELECT record FROM gateway_keys WHERE digest = ?"
LIST_KEYS: Final = 'SELECT record FROM gateway_keys ORDER BY name COLLATE "C"'
ADMIT: Final = """
SELECT o_limit, o_retry, o_spent, o_held FROM gateway_admit(
?, ?, ?::float8, ?::float8, ?::bigint, ?::integer, ?::float8, ?::integer, ?::bigint, ?::bigint)"""
RENEW: Final = "SELECT gateway_renew(?, ?::text[], ?::bigint[], ?::float8, ?::float8)"
SETTLE: Final = "SELECT gateway_settle(?, ?, ?::bigint, ?::integer)"
USAGE: Final = """
SELECT o_under_way, o_spent, o_held, o_requests, o_refused, o_unpriced FROM gateway_usage(?, ?::float8)"""
