"""Accounts in PostgreSQL. Each step is one function of the database: one round trip, and a short lock on its accounts.

Every function locks all of its accounts first, in one order, so two of them never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from helmdeck_gateway.stores.records import Node, Open
from helmdeck_storage import Session

FUNCTIONS: Final = (
    # Locks the accounts and returns the time, which never goes back between two holders of the lock. Missing accounts are
    # inserted before any is locked: a holder of a lock never waits for one that inserts.
    """CREATE OR REPLACE FUNCTION gateway_lock(p_accounts TEXT[], p_now DOUBLE PRECISION) RETURNS DOUBLE PRECISION AS $$
    BEGIN
        IF (SELECT count(*) FROM gateway_accounts WHERE account = ANY (p_accounts)) < cardinality(p_accounts) THEN
            INSERT INTO gateway_accounts SELECT a, 0, 0 FROM unnest(p_accounts) AS a ORDER BY a ON CONFLICT DO NOTHING;
        END IF;
        PERFORM 1 FROM gateway_accounts WHERE account = ANY (p_accounts) ORDER BY account FOR UPDATE;
        RETURN coalesce(p_now, extract(epoch FROM clock_timestamp()));
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_lock_one(p_account TEXT, p_now DOUBLE PRECISION) RETURNS DOUBLE PRECISION AS $$
    BEGIN
        PERFORM 1 FROM gateway_accounts WHERE account = p_account FOR UPDATE;
        IF NOT FOUND THEN
            RETURN gateway_lock(ARRAY[p_account], p_now);
        END IF;
        RETURN coalesce(p_now, extract(epoch FROM clock_timestamp()));
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_add(
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
    """CREATE OR REPLACE FUNCTION gateway_sweep(p_account TEXT, p_now DOUBLE PRECISION) RETURNS VOID AS $$
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
    # The refusal of a call by one node, or what its spend limits leave. The account is locked.
    """CREATE OR REPLACE FUNCTION gateway_check(
        p_account TEXT, p_now DOUBLE PRECISION, p_time TIMESTAMP, p_rate INTEGER, p_window DOUBLE PRECISION,
        p_concurrency INTEGER, p_day BIGINT, p_month BIGINT, p_tokens BIGINT,
        OUT o_limit TEXT, OUT o_retry DOUBLE PRECISION, OUT o_spent BIGINT, OUT o_held BIGINT, OUT o_left BIGINT,
        OUT o_count BIGINT) AS $$
    DECLARE
        v_node gateway_accounts%ROWTYPE;
        v_row RECORD;
        v_value DOUBLE PRECISION;
    BEGIN
        o_limit := '';
        o_retry := 0;
        IF p_month IS NOT NULL THEN
            SELECT spent, held INTO v_row FROM gateway_spend
            WHERE account = p_account AND period = to_char(p_time, 'YYYY-MM');
            o_spent := coalesce(v_row.spent, 0);
            o_held := coalesce(v_row.held, 0);
            o_left := p_month - o_spent - o_held;
            IF o_left <= 0 THEN
                o_limit := 'spend_per_month';
                o_retry := extract(epoch FROM date_trunc('month', p_time) + interval '1 month' - p_time);
                IF o_spent < p_month THEN
                    o_retry := least(1, o_retry);
                END IF;
                RETURN;
            END IF;
        END IF;
        IF p_day IS NOT NULL THEN
            SELECT spent, held INTO v_row FROM gateway_spend
            WHERE account = p_account AND period = to_char(p_time, 'YYYY-MM-DD');
            o_spent := coalesce(v_row.spent, 0);
            o_held := coalesce(v_row.held, 0);
            o_left := least(o_left, p_day - o_spent - o_held);
            IF p_day - o_spent - o_held <= 0 THEN
                o_limit := 'spend_per_day';
                o_retry := extract(epoch FROM date_trunc('day', p_time) + interval '1 day' - p_time);
                IF o_spent < p_day THEN
                    o_retry := least(1, o_retry);
                END IF;
                RETURN;
            END IF;
        END IF;
        o_spent := 0;
        o_held := 0;
        IF p_concurrency IS NULL AND p_tokens IS NULL AND p_rate IS NULL THEN
            RETURN;
        END IF;
        SELECT * INTO v_node FROM gateway_accounts WHERE account = p_account;
        o_count := v_node.count;
        IF v_node.under_way >= p_concurrency THEN
            o_limit := 'concurrency';
            o_retry := 1;
            RETURN;
        END IF;
        IF p_tokens IS NOT NULL THEN
            v_value := greatest(0, v_node.tokens - (p_now - v_node.tokens_s) * p_tokens / 60);
            IF v_value >= p_tokens THEN
                o_limit := 'tokens_per_minute';
                o_retry := (v_value - p_tokens) * 60 / p_tokens;
                RETURN;
            END IF;
        END IF;
        IF p_rate IS NOT NULL THEN
            SELECT start_s INTO v_value FROM gateway_starts WHERE account = p_account AND place = v_node.count % p_rate;
            IF v_value > p_now - p_window THEN
                o_limit := 'rate';
                o_retry := v_value + p_window - p_now;
            END IF;
        END IF;
    END $$ LANGUAGE plpgsql""",
    # Counts an admitted call in one node. The account is locked.
    """CREATE OR REPLACE FUNCTION gateway_enter(
        p_account TEXT, p_call TEXT, p_now DOUBLE PRECISION, p_day TEXT, p_month TEXT, p_lease DOUBLE PRECISION, p_held BIGINT,
        p_held_tokens BIGINT, p_rate INTEGER, p_tokens BIGINT, p_count BIGINT) RETURNS VOID AS $$
    BEGIN
        IF p_rate IS NOT NULL THEN
            INSERT INTO gateway_starts VALUES (p_account, p_count % p_rate, p_now)
            ON CONFLICT (account, place) DO UPDATE SET start_s = excluded.start_s;
        END IF;
        IF p_tokens IS NULL THEN
            UPDATE gateway_accounts SET under_way = under_way + 1, count = count + 1 WHERE account = p_account;
        ELSE
            UPDATE gateway_accounts SET under_way = under_way + 1, count = count + 1, tokens_s = p_now,
                tokens = greatest(0, tokens - (p_now - tokens_s) * p_tokens / 60) + p_held_tokens
            WHERE account = p_account;
        END IF;
        INSERT INTO gateway_calls VALUES (p_account, p_call, p_now + p_lease, p_held, p_day, p_month, TRUE,
            CASE WHEN p_tokens IS NULL THEN 0 ELSE p_held_tokens END);
        PERFORM gateway_add(p_account, p_day, p_month, 0, p_held, 1, 0, 0);
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_admit(
        p_accounts TEXT[], p_call TEXT, p_now DOUBLE PRECISION, p_lease DOUBLE PRECISION, p_held BIGINT, p_held_tokens BIGINT,
        p_rates INTEGER[], p_windows DOUBLE PRECISION[], p_concurrencies INTEGER[], p_days BIGINT[], p_months BIGINT[],
        p_tokens BIGINT[], OUT o_limit TEXT, OUT o_place INTEGER, OUT o_retry DOUBLE PRECISION, OUT o_spent BIGINT,
        OUT o_held BIGINT, OUT o_left BIGINT) AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_accounts, p_now);
        v_time TIMESTAMP := to_timestamp(v_now) AT TIME ZONE 'UTC';
        v_day TEXT := to_char(v_time, 'YYYY-MM-DD');
        v_month TEXT := to_char(v_time, 'YYYY-MM');
        v_check RECORD;
        v_counts BIGINT[];
    BEGIN
        o_limit := '';
        FOR i IN 1 .. cardinality(p_accounts) LOOP
            PERFORM gateway_sweep(p_accounts[i], v_now);
            IF EXISTS (SELECT 1 FROM gateway_calls WHERE account = p_accounts[i] AND call = p_call) THEN
                RETURN;
            END IF;
        END LOOP;
        FOR i IN 1 .. cardinality(p_accounts) LOOP
            v_check := gateway_check(p_accounts[i], v_now, v_time, p_rates[i], p_windows[i], p_concurrencies[i], p_days[i],
                p_months[i], p_tokens[i]);
            IF v_check.o_limit <> '' THEN
                o_limit := v_check.o_limit;
                o_retry := v_check.o_retry;
                o_spent := v_check.o_spent;
                o_held := v_check.o_held;
                o_place := i - 1;
                FOR j IN 1 .. cardinality(p_accounts) LOOP
                    PERFORM gateway_add(p_accounts[j], v_day, v_month, 0, 0, 0, 1, 0);
                END LOOP;
                RETURN;
            END IF;
            o_left := least(o_left, v_check.o_left);
            v_counts[i] := v_check.o_count;
        END LOOP;
        FOR i IN 1 .. cardinality(p_accounts) LOOP
            PERFORM gateway_enter(p_accounts[i], p_call, v_now, v_day, v_month, p_lease, p_held, p_held_tokens, p_rates[i],
                p_tokens[i], v_counts[i]);
        END LOOP;
    END $$ LANGUAGE plpgsql""",
    # gateway_admit for one account, the most frequent case: arrays and loops over them cost a third of the time.
    """CREATE OR REPLACE FUNCTION gateway_admit_one(
        p_account TEXT, p_call TEXT, p_now DOUBLE PRECISION, p_lease DOUBLE PRECISION, p_held BIGINT, p_held_tokens BIGINT,
        p_rate INTEGER, p_window DOUBLE PRECISION, p_concurrency INTEGER, p_day BIGINT, p_month BIGINT, p_tokens BIGINT,
        OUT o_limit TEXT, OUT o_place INTEGER, OUT o_retry DOUBLE PRECISION, OUT o_spent BIGINT, OUT o_held BIGINT,
        OUT o_left BIGINT) AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock_one(p_account, p_now);
        v_time TIMESTAMP := to_timestamp(v_now) AT TIME ZONE 'UTC';
        v_day TEXT := to_char(v_time, 'YYYY-MM-DD');
        v_month TEXT := to_char(v_time, 'YYYY-MM');
        v_check RECORD;
    BEGIN
        PERFORM gateway_sweep(p_account, v_now);
        o_limit := '';
        o_place := 0;
        IF EXISTS (SELECT 1 FROM gateway_calls WHERE account = p_account AND call = p_call) THEN
            RETURN;
        END IF;
        v_check := gateway_check(p_account, v_now, v_time, p_rate, p_window, p_concurrency, p_day, p_month, p_tokens);
        IF v_check.o_limit <> '' THEN
            o_limit := v_check.o_limit;
            o_retry := v_check.o_retry;
            o_spent := v_check.o_spent;
            o_held := v_check.o_held;
            PERFORM gateway_add(p_account, v_day, v_month, 0, 0, 0, 1, 0);
            RETURN;
        END IF;
        o_left := v_check.o_left;
        PERFORM gateway_enter(p_account, p_call, v_now, v_day, v_month, p_lease, p_held, p_held_tokens, p_rate, p_tokens,
            v_check.o_count);
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_renew(
        p_accounts TEXT[], p_calls TEXT[], p_held BIGINT[], p_tokens BIGINT[], p_lease DOUBLE PRECISION,
        p_now DOUBLE PRECISION) RETURNS VOID AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock(p_accounts, p_now);
        v_account TEXT;
        v_call RECORD;
        v_more BIGINT;
        v_tokens BIGINT;
    BEGIN
        FOREACH v_account IN ARRAY p_accounts LOOP
            PERFORM gateway_sweep(v_account, v_now);
            FOR v_call IN SELECT c.call, c.held, c.day, c.month, c.is_open, c.tokens, n.held AS least, n.tokens AS least_tokens
                FROM unnest(p_calls, p_held, p_tokens) AS n(call, held, tokens)
                JOIN gateway_calls c ON c.account = v_account AND c.call = n.call
            LOOP
                v_more := greatest(0, v_call.least - v_call.held);
                v_tokens := CASE WHEN v_call.tokens = 0 THEN 0 ELSE greatest(0, v_call.least_tokens - v_call.tokens) END;
                UPDATE gateway_calls SET held = held + v_more, tokens = tokens + v_tokens,
                    until_s = CASE WHEN v_call.is_open THEN v_now + p_lease ELSE until_s END
                WHERE account = v_account AND call = v_call.call;
                IF v_tokens > 0 THEN
                    UPDATE gateway_accounts SET tokens = tokens + v_tokens WHERE account = v_account;
                END IF;
                IF v_more > 0 AND v_call.is_open THEN
                    PERFORM gateway_add(v_account, v_call.day, v_call.month, 0, v_more, 0, 0, 0);
                ELSIF v_more > 0 THEN
                    PERFORM gateway_add(v_account, v_call.day, v_call.month, v_more, 0, 0, 0, 0);
                END IF;
            END LOOP;
        END LOOP;
    END $$ LANGUAGE plpgsql""",
    # Locks the account by itself, as the first of its statements; a caller with several accounts has locked all of them.
    """CREATE OR REPLACE FUNCTION gateway_settle_one(
        p_account TEXT, p_call TEXT, p_cost BIGINT, p_tokens BIGINT, p_unpriced INTEGER) RETURNS BOOLEAN AS $$
    DECLARE
        v_call RECORD;
    BEGIN
        PERFORM 1 FROM gateway_accounts WHERE account = p_account FOR UPDATE;
        DELETE FROM gateway_calls WHERE account = p_account AND call = p_call RETURNING * INTO v_call;
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
        IF v_call.is_open THEN
            PERFORM gateway_add(p_account, v_call.day, v_call.month, p_cost, -v_call.held, 0, 0, p_unpriced);
        ELSE
            PERFORM gateway_add(p_account, v_call.day, v_call.month, p_cost - v_call.held, 0, 0, 0, p_unpriced);
        END IF;
        IF v_call.is_open OR v_call.tokens > 0 THEN
            UPDATE gateway_accounts SET under_way = under_way - v_call.is_open::integer,
                tokens = tokens + CASE WHEN v_call.tokens > 0 THEN p_tokens - v_call.tokens ELSE 0 END
            WHERE account = p_account;
        END IF;
        RETURN TRUE;
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_settle(
        p_accounts TEXT[], p_call TEXT, p_cost BIGINT, p_tokens BIGINT, p_unpriced INTEGER) RETURNS BOOLEAN AS $$
    DECLARE
        v_account TEXT;
        v_found BOOLEAN := FALSE;
    BEGIN
        PERFORM gateway_lock(p_accounts, NULL);
        FOREACH v_account IN ARRAY p_accounts LOOP
            v_found := gateway_settle_one(v_account, p_call, p_cost, p_tokens, p_unpriced) OR v_found;
        END LOOP;
        RETURN v_found;
    END $$ LANGUAGE plpgsql""",
    """CREATE OR REPLACE FUNCTION gateway_usage(p_account TEXT, p_now DOUBLE PRECISION) RETURNS TABLE (
        o_under_way INTEGER, o_period INTEGER, o_spent BIGINT, o_held BIGINT, o_requests BIGINT, o_refused BIGINT,
        o_unpriced BIGINT, o_tokens DOUBLE PRECISION, o_tokens_s DOUBLE PRECISION, o_now DOUBLE PRECISION) AS $$
    DECLARE
        v_now DOUBLE PRECISION := gateway_lock_one(p_account, p_now);
        v_time TIMESTAMP := to_timestamp(v_now) AT TIME ZONE 'UTC';
    BEGIN
        PERFORM gateway_sweep(p_account, v_now);
        RETURN QUERY SELECT a.under_way, n.place, coalesce(s.spent, 0), coalesce(s.held, 0), coalesce(s.requests, 0),
            coalesce(s.refused, 0), coalesce(s.unpriced, 0), a.tokens, a.tokens_s, v_now
        FROM gateway_accounts a
        CROSS JOIN (VALUES (0, to_char(v_time, 'YYYY-MM-DD')), (1, to_char(v_time, 'YYYY-MM'))) AS n(place, period)
        LEFT JOIN gateway_spend s ON s.account = a.account AND s.period = n.period
        WHERE a.account = p_account ORDER BY n.place;
    END $$ LANGUAGE plpgsql""",
)

TABLES: Final = (
    # With free space in each page, an update rewrites no index.
    """CREATE TABLE gateway_accounts (
        account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count BIGINT NOT NULL,
        tokens DOUBLE PRECISION NOT NULL DEFAULT 0, tokens_s DOUBLE PRECISION NOT NULL DEFAULT 0)
        WITH (fillfactor = 50)""",
    """CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s DOUBLE PRECISION NOT NULL, held BIGINT NOT NULL,
        day TEXT NOT NULL, month TEXT NOT NULL, is_open BOOLEAN NOT NULL, tokens BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (account, call))""",
    "CREATE INDEX gateway_calls_by_end ON gateway_calls (account, is_open, until_s)",
    """CREATE TABLE gateway_starts (
        account TEXT NOT NULL, place BIGINT NOT NULL, start_s DOUBLE PRECISION NOT NULL, PRIMARY KEY (account, place))
        WITH (fillfactor = 50)""",
    """CREATE TABLE gateway_spend (
        account TEXT NOT NULL, period TEXT NOT NULL, spent BIGINT NOT NULL DEFAULT 0, held BIGINT NOT NULL DEFAULT 0,
        requests BIGINT NOT NULL DEFAULT 0, refused BIGINT NOT NULL DEFAULT 0, unpriced BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (account, period)) WITH (fillfactor = 50)""",
    *FUNCTIONS,
)

ADMIT: Final = """
SELECT o_limit, o_place, o_retry, o_spent, o_held, o_left FROM gateway_admit(
?::text[], ?, ?::float8, ?::float8, ?::bigint, ?::bigint, ?::integer[], ?::float8[], ?::integer[], ?::bigint[], ?::bigint[],
?::bigint[])"""
ADMIT_ONE: Final = """
SELECT o_limit, o_place, o_retry, o_spent, o_held, o_left FROM gateway_admit_one(
?, ?, ?::float8, ?::float8, ?::bigint, ?::bigint, ?::integer, ?::float8, ?::integer, ?::bigint, ?::bigint, ?::bigint)"""
RENEW: Final = "SELECT gateway_renew(?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::float8, ?::float8)"
SETTLE: Final = "SELECT gateway_settle(?::text[], ?, ?::bigint, ?::bigint, ?::integer)"
SETTLE_ONE: Final = "SELECT gateway_settle_one(?, ?, ?::bigint, ?::bigint, ?::integer)"
USAGE: Final = """
SELECT o_under_way, o_spent, o_held, o_requests, o_refused, o_unpriced, o_tokens, o_tokens_s, o_now
FROM gateway_usage(?, ?::float8)"""


LOST: Final = """
SELECT DISTINCT account FROM gateway_calls WHERE account = ANY (?)
AND is_open AND until_s <= coalesce(?::float8, extract(epoch FROM clock_timestamp()))"""

USAGES: Final = """
WITH clock AS MATERIALIZED (SELECT coalesce(?::float8, extract(epoch FROM clock_timestamp())::float8) AS now)
SELECT coalesce(a.under_way, 0), coalesce(d.spent, 0), coalesce(d.held, 0), coalesce(d.requests, 0), coalesce(d.refused, 0),
    coalesce(d.unpriced, 0), coalesce(m.spent, 0), coalesce(m.held, 0), coalesce(m.requests, 0), coalesce(m.refused, 0),
    coalesce(m.unpriced, 0), coalesce(a.tokens, 0), coalesce(a.tokens_s, 0), now
FROM unnest(?::text[]) WITH ORDINALITY AS w(account, number) CROSS JOIN clock
LEFT JOIN gateway_accounts a ON a.account = w.account
LEFT JOIN gateway_spend d ON d.account = w.account AND d.period = to_char(to_timestamp(now) AT TIME ZONE 'UTC', 'YYYY-MM-DD')
LEFT JOIN gateway_spend m ON m.account = w.account AND m.period = to_char(to_timestamp(now) AT TIME ZONE 'UTC', 'YYYY-MM')
ORDER BY w.number"""

SPEND: Final = """
SELECT account, sum(spent)::bigint, sum(held)::bigint, sum(requests)::bigint, sum(refused)::bigint, sum(unpriced)::bigint
FROM gateway_spend WHERE account = ANY (?) AND period = ANY (?) GROUP BY account"""


def upgrade(session: Session) -> None:
    """Add what version 2 has: token limits, and calls that count against several accounts.

    The other functions of version 1 have other parameters, and stay for processes of the release before.
    """
    session.change("ALTER TABLE gateway_accounts ADD COLUMN tokens DOUBLE PRECISION NOT NULL DEFAULT 0")
    session.change("ALTER TABLE gateway_accounts ADD COLUMN tokens_s DOUBLE PRECISION NOT NULL DEFAULT 0")
    session.change("ALTER TABLE gateway_calls ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0")
    session.change("DROP FUNCTION gateway_usage(TEXT, DOUBLE PRECISION)")
    for statement in FUNCTIONS:
        session.change(statement)


def admission(nodes: Sequence[Node], call: Open, lease_s: float, now_s: float | None) -> tuple[str, Sequence[Any]]:
    """Return the statement that admits a call, and its parameters."""
    amounts = (call.call_id, now_s, lease_s, call.held_nusd, call.held_tokens)
    if len(nodes) == 1:
        account, one = nodes[0].account, nodes[0].limits
        of_node = (one.rate, one.window_s, one.concurrency, one.day_nusd, one.month_nusd, one.tokens)
        return ADMIT_ONE, (account, *amounts, *of_node)
    limits = [node.limits for node in nodes]
    return ADMIT, (
        [node.account for node in nodes],
        *amounts,
        [each.rate for each in limits],
        [each.window_s for each in limits],
        [each.concurrency for each in limits],
        [each.day_nusd for each in limits],
        [each.month_nusd for each in limits],
        [each.tokens for each in limits],
    )


def settlement(
    accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int, *, unpriced: bool
) -> tuple[str, Sequence[Any]]:
    """Return the statement that settles a call, and its parameters."""
    amounts = (call_id, cost_nusd, tokens, int(unpriced))
    return (SETTLE_ONE, (accounts[0], *amounts)) if len(accounts) == 1 else (SETTLE, (list(accounts), *amounts))
