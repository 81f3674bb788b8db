"""The files for deployments agree with each other and with the code."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import helmdeck_transport_aiohttp
from helmdeck_core import Config, LoadedConfig
from helmdeck_core.config.load import load_config
from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.commands.serve import with_sinks
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.http_server.server import LAST_ERRORS_S
from helmdeck_testing import make_deck

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it reads the files for Kubernetes and Compose")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
CONTRIB = "contrib_transports/aiohttp"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PORT = GatewaySettings().port
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def kubernetes(kind):
    (found,) = [
        document
        for path in KUBERNETES.glob("*.yaml")
        for document in yaml.safe_load_all(path.read_text())
        if document["kind"] == kind
    ]
    return found


def pod():
    return kubernetes("Deployment")["spec"]["template"]["spec"]


def settings_of(text):
    config = tomllib.loads(text)
    return config, GatewaySettings.read(config["gateway"])


@pytest.fixture(scope="module")
def paths():
    with make_deck() as deck:
        return {route.path for route in Gateway(deck).app.routes}


CONFIGS = {
    "compose": (DEPLOY / "config" / "helmdeck.toml").read_text(),
    "kubernetes": kubernetes("ConfigMap")["data"]["helmdeck.toml"],
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_are_valid(name, tmp_path):
    file = tmp_path / "helmdeck.toml"
    file.write_text(CONFIGS[name])
    loaded = load_config(file=file, environ={})
    assert loaded.mistakes == ()
    with make_deck(helmdeck_transport_aiohttp, config=tomllib.loads(CONFIGS[name])) as deck:
        from helmdeck_gateway.http_server.config_source import gateway_mistakes

        assert gateway_mistakes(deck.runtime) == ()
    assert "requests" in with_sinks(LoadedConfig(Config(), {}), has_traces=True).config.events.sinks


def test_image_installs_the_packages_of_the_project_and_runs_without_root():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    installed = re.search(r"pip install (.+\n.+)", DOCKERFILE)[1]
    extras = re.search(r"\[([\w,]+)\]", installed)[1].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    assert {"serve", "postgres", "redis", "prometheus", "otel", "sso"} == set(extras)
    assert f"./{CONTRIB}" in installed
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {name for line in copied for name in line.split()}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    parts = {name.partition("/")[0] for name in (*wheel, CONTRIB)}
    assert parts | {"pyproject.toml", "README.md", "LICENSE"} == sources
    allowed = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().split() if line.startswith("!")}
    assert allowed == sources
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)


def test_ports_and_probes_are_those_of_the_gateway(paths):
    assert f"EXPOSE {PORT}" in DOCKERFILE and f'"--port", "{PORT}"' in DOCKERFILE
    probed = re.search(r"127\.0\.0\.1:(\d+)(/\w+)", DOCKERFILE)
    assert (int(probed[1]), probed[2] in paths) == (PORT, True)
    (container,) = pod()["containers"]
    assert [port["containerPort"] for port in container["ports"]] == [PORT]
    for name, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[name]["httpGet"] == {"path": path, "port": "http"} and path in paths
    notes = kubernetes("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert (notes["prometheus.io/port"], notes["prometheus.io/path"] in paths) == (str(PORT), True)
    (port,) = kubernetes("Service")["spec"]["ports"]
    assert port["targetPort"] == "http"


def test_time_to_stop_is_longer_than_the_time_to_drain():
    _, settings = settings_of(CONFIGS["kubernetes"])
    (container,) = pod()["containers"]
    program, _, pause = container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "python", "the image has no other program to wait with"
    pause_s = int(re.search(r"sleep\((\d+)\)", pause)[1])
    assert pod()["terminationGracePeriodSeconds"] > pause_s + settings.drain_s + 2 * LAST_ERRORS_S
    _, settings = settings_of(CONFIGS["compose"])
    gateway = SERVICES["gateway-1"]
    assert int(gateway["stop_grace_period"].removesuffix("s")) > settings.drain_s + 2 * LAST_ERRORS_S


def test_secrets_come_from_secrets_and_every_variable_of_the_configuration_is_set():
    (container,) = pod()["containers"]
    env = {row["name"]: row for row in container["env"]}
    assert all("secretKeyRef" in row["valueFrom"] for row in env.values())
    used = set(re.findall(r"env:(\w+)", CONFIGS["kubernetes"])) | {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
    assert used <= set(env)
    gateway = SERVICES["gateway-1"]
    assert set(re.findall(r"env:(\w+)", CONFIGS["compose"])) <= set(gateway["environment"])


def test_writable_places_are_mounted_where_the_root_is_read_only():
    (container,) = pod()["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    data = re.search(r"HELMDECK_DATA_DIR=(\S+)", DOCKERFILE)[1]
    config = re.search(r"HELMDECK_CONFIG=(\S+)", DOCKERFILE)[1]
    assert {data, "/tmp"} <= set(mounts) and mounts[str(Path(config).parent)]["readOnly"]
    assert all("subPath" not in mount for mount in mounts.values()), "a mounted file would not change"
    assert Path(config).name in kubernetes("ConfigMap")["data"]


def test_kustomization_lists_every_file_and_is_built_where_kubectl_exists():
    listed = kubernetes("Kustomization")["resources"]
    assert sorted(listed) == sorted(path.name for path in KUBERNETES.glob("*.yaml") if path.stem != "kustomization")
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    built = subprocess.run(["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    assert len(list(yaml.safe_load_all(built.stdout))) == len(listed)


def test_manifests_match_the_schemas_of_kubernetes():
    validate = pytest.importorskip("kubernetes_validate", reason="requires: pip install kubernetes-validate").validate
    for path in sorted(KUBERNETES.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        if document["kind"] != "Kustomization":
            validate(document, "1.37", strict=True)


def test_autoscaler_reads_the_gauge_of_requests_that_the_adapter_provides():
    metrics = {each["type"]: each for each in kubernetes("HorizontalPodAutoscaler")["spec"]["metrics"]}
    name = metrics["Pods"]["pods"]["metric"]["name"]
    assert f"# TYPE {name} gauge" in Counters().render()
    (rule,) = yaml.safe_load((DEPLOY / "prometheus" / "adapter-values.yaml").read_text())["rules"]["custom"]
    assert rule["name"] == {"as": name} and rule["seriesQuery"].startswith(f"{name}{{")
    assert "cpu" in pod()["containers"][0]["resources"]["requests"], "utilization is relative to the request"


def test_disruption_budget_policy_and_service_select_the_pods():
    labels = kubernetes("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert kubernetes("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    policy = kubernetes("NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"] == labels == kubernetes("Service")["spec"]["selector"]
    names = {port["name"] for port in pod()["containers"][0]["ports"]}
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} <= names


def test_compose_file_matches_its_schema():
    check = pytest.importorskip("check_jsonschema", reason="requires: pip install check-jsonschema")
    with pytest.raises(SystemExit) as ended:
        check.main(["--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")])
    assert not ended.value.code


def test_balancer_and_prometheus_reach_the_gateways_of_the_compose_file():
    gateways = {f"{name}:{PORT}" for name in SERVICES if name.startswith("gateway-")}
    balancer = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    assert set(re.findall(r"^ +server \S+ (\S+)$", balancer, re.MULTILINE)) == gateways
    assert f"bind :{PORT}\n" in balancer and SERVICES["balancer"]["ports"] == [f"{PORT}:{PORT}"]
    assert SERVICES["gateway-1"]["image"] == pod()["containers"][0]["image"]
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    assert set(job["static_configs"][0]["targets"]) == gateways
    assert not any("ports" in SERVICES[name.partition(":")[0]] for name in gateways), "/metrics is not public"


def test_files_that_the_compose_file_mounts_exist():
    sources = [each.partition(":")[0] for service in SERVICES.values() for each in service.get("volumes", ())]
    local = [DEPLOY / each for each in sources if each.startswith(".")]
    assert len(local) >= 6 and all(path.exists() for path in local)


@pytest.mark.parametrize(
    ("program", "words"),
    [("promtool", ["check", "config", "prometheus/prometheus.yml"]), ("haproxy", ["-c", "-q", "-f", "FILE"])],
)
def test_configurations_pass_the_checks_of_their_programs(program, words, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"requires: apt-get install {'prometheus' if program == 'promtool' else program}")
    file = tmp_path / "haproxy.cfg"
    # The names are those of containers, which this machine does not resolve.
    file.write_text(re.sub(r"gateway-\d:", "127.0.0.1:", (DEPLOY / "haproxy" / "haproxy.cfg").read_text()))
    command = [program, *(str(file) if word == "FILE" else word for word in words)]
    done = subprocess.run(command, cwd=DEPLOY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def has_docker(*words):
    return shutil.which("docker") is not None and not subprocess.run(["docker", *words], capture_output=True).returncode


def test_compose_file_is_accepted():
    if not has_docker("compose", "version"):
        pytest.skip("docker compose is not installed")
    environ = {
        "GATEWAY_KEY": "0123456789abcdef",
        "POSTGRES_PASSWORD": "x",
        "GRAFANA_PASSWORD": "x",
        "PATH": __import__("os").environ["PATH"],
    }
    words = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_dockerfile_passes_the_checks_of_docker():
    if not has_docker("buildx", "version") or not has_docker("info"):
        pytest.skip("docker buildx or a Docker daemon is missing")
    words = ["docker", "build", "--check", "-f", str(DEPLOY / "Dockerfile"), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
