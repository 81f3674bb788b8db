"""Metrics of several workers are added up; those of workers that have ended still count."""

import subprocess
import sys

from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.http_server.shared_metrics import SharedMetrics, merge


def text_of(requests, under_way=0, generation=1, error=""):
    counters = Counters()
    for _ in range(requests):
        counters.count("chat", 200)
    counters.under_way = under_way
    counters.config.generation, counters.config.error = generation, error
    return counters.render()


def value_of(text, series):
    (line,) = [line for line in text.splitlines() if line.startswith(f"{series} ")]
    return float(line.split()[-1])


def test_counters_are_added_and_gauges_combined_by_their_meaning():
    text = merge([(text_of(3, 2, 4), True), (text_of(5, 1, 3, "broken"), True), (text_of(7, 9, 9), False)])
    assert value_of(text, 'helmdeck_gateway_requests_total{endpoint="chat",status="200"}') == 15
    assert value_of(text, "helmdeck_gateway_requests_under_way") == 3
    assert value_of(text, "helmdeck_gateway_config_generation") == 4
    assert value_of(text, "helmdeck_gateway_config_last_reload_successful") == 0
    assert text.count("# TYPE helmdeck_gateway_requests_total counter") == 1


def test_merged_text_is_one_that_prometheus_reads():
    from prometheus_client import Counter, Histogram, generate_latest
    from prometheus_client.parser import text_string_to_metric_families
    from prometheus_client.registry import CollectorRegistry

    registry = CollectorRegistry()
    Counter("calls", "Calls, by model.", ["model"], registry=registry).labels('a "quoted" {model} 1').inc(2.5)
    Histogram("seconds", "Time.", registry=registry).observe(0.3)
    text = generate_latest(registry).decode()
    merged = merge([(text, True), (text, False)])
    samples = {
        s.name: s.value for f in text_string_to_metric_families(merged) for s in f.samples if "bucket" not in s.name
    }
    assert (samples["calls_total"], samples["seconds_count"], samples["seconds_sum"]) == (5, 2, 0.6)


def test_each_worker_shows_all_and_keeps_the_counters_of_those_that_have_ended(tmp_path):
    one, two = SharedMetrics(tmp_path), SharedMetrics(tmp_path)
    one.write(text_of(3, under_way=1))
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    ).stdout
    (tmp_path / f"abc.{ended.strip()}").write_text(text_of(10, under_way=5))
    text = two.merged(text_of(4))
    assert value_of(text, 'helmdeck_gateway_requests_total{endpoint="chat",status="200"}') == 17
    assert value_of(text, "helmdeck_gateway_requests_under_way") == 1
