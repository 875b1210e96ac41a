package io.kvasir.doctor.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import io.kvasir.doctor.exam.RouterExam.Problem;
import io.kvasir.doctor.exam.RouterExam.Prompts;
import io.kvasir.doctor.exam.RouterExam.SettingsSeen;
import io.kvasir.doctor.exam.RouterExam.WorkerSource;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The checks of running nodes and of certificates. */
final class RouterChecksTest {
  private static final Instant NOW = Instant.parse("2026-11-22T12:00:00Z");
  private static final SettingsSeen SAME = new SettingsSeen(0, List.of());
  private static final NodeSeen NODE = node("h1:7625", true, "1.0", true);

  private static NodeSeen node(String address, boolean reachable, String version, boolean answered) {
    return new NodeSeen(address, reachable, version, answered, answered ? SAME : null, List.of());
  }

  private static RouterExam router(List<Problem> problems, List<NodeSeen> nodes, @Nullable Prompts prompts) {
    return new RouterExam("http://h1:7626", problems, nodes, prompts, List.of(), List.of(), List.of());
  }

  private static List<Finding> findings(RouterExam router, CertificateExam... certificates) {
    Examination examination = new Examination(NOW, List.of(), List.of(), null, List.of(certificates), router);
    return Checks.ALL.stream().flatMap(check -> check.findings(examination).stream()).toList();
  }

  private static Finding only(RouterExam router, String check, Severity severity, CertificateExam... certificates) {
    List<Finding> findings = findings(router, certificates);
    assertThat(findings).extracting(Finding::check).containsExactly(check);
    assertThat(findings.getFirst().severity()).isEqualTo(severity);
    return findings.getFirst();
  }

  @Test
  void aHealthyRouter_hasNothingWrong() {
    assertThat(findings(router(List.of(), List.of(NODE, NODE), new Prompts(10, 5, 16, 5)))).isEmpty();
  }

  @Test
  void checks_haveNamesOfTheirOwn_andAskOneQuestion() {
    assertThat(Checks.ALL).extracting(Check::name).doesNotHaveDuplicates().allMatch(name -> name.matches("[a-z-]+"));
    assertThat(Checks.ALL).extracting(Check::question).doesNotHaveDuplicates().allMatch(each -> each.endsWith("?"));
  }

  @Test
  void promptsShorterThanABlock() {
    Finding finding =
        only(router(List.of(), List.of(NODE), new Prompts(10, 6, 512, 0)), "prompt-length", Severity.WARNING);

    assertThat(finding.problem()).isEqualTo("6 of the latest 10 prompts are shorter than a block of 512 tokens");
    assertThat(finding.remedy()).contains("--block-size");
  }

  @Test
  void promptsKnownByTheirTextOnly() {
    Finding finding =
        only(router(List.of(), List.of(NODE), new Prompts(10, 0, 8, 6)), "tokenizer", Severity.WARNING);

    assertThat(finding.problem()).contains("no tokenizer was loaded");
  }

  @Test
  void nodesThatAreNotReached() {
    NodeSeen gone = node("h2:7625", false, "1.0", false);
    assertThat(only(router(List.of(), List.of(NODE, gone), null), "nodes", Severity.ERROR).subject()).contains("h2");
    NodeSeen mute = node("h2:7625", true, "1.0", false);
    assertThat(only(router(List.of(), List.of(NODE, mute), null), "nodes", Severity.WARNING).problem())
        .contains("did not say");
  }

  private static RouterExam linked(NodeLink... links) {
    return new RouterExam(
        "http://h1:7626", List.of(), List.of(NODE), null, List.of(), List.of(), List.of(links));
  }

  @ParameterizedTest
  @CsvSource({
    "cluster, ERROR, kvasir.cluster.port", "line, WARNING, kvasir.cluster.line-port",
    "management, ERROR, kvasir.management.host", "gateway, ERROR, kvasir.gateway.host"
  })
  void portsThatANodeDoesNotReach(String port, Severity severity, String setting) {
    NodeLink open = new NodeLink("h1:7625", "h2:7625", port, "h2:9", true, "");
    NodeLink one = new NodeLink("h1:7625", "h3:7625", port, "h3:9", false, "the connection is refused");
    NodeLink other = new NodeLink("h2:7625", "h3:7625", port, "h3:9", false, "the connection is refused");

    assertThat(findings(linked(open))).isEmpty();
    Finding finding = only(linked(open, one, other), "node-ports", severity);

    assertThat(finding.subject()).isEqualTo("node h3:7625");
    assertThat(finding.problem()).startsWith("h1:7625, h2:7625 do not reach its port for ")
        .endsWith(", h3:9: the connection is refused");
    assertThat(finding.remedy()).contains(setting);
  }

  @Test
  void nodesOfSeveralVersions() {
    NodeSeen old = node("h2:7625", true, "0.9", true);

    assertThat(only(router(List.of(), List.of(NODE, old), null), "node-versions", Severity.WARNING).problem())
        .isEqualTo("its nodes run 0.9, 1.0");
  }

  @Test
  void nodesOfSeveralConfigurations() {
    SettingsSeen differing =
        new SettingsSeen(7, List.of("kvasir.a is 1 there and 2 here", "b", "c", "d", "e", "the sixth"));
    NodeSeen other = new NodeSeen("h2:7625", true, "1.0", true, differing, List.of());
    NodeSeen same = new NodeSeen("h3:7625", true, "1.0", true, SAME, List.of());

    Finding finding = only(router(List.of(), List.of(NODE, other, same), null), "node-settings", Severity.WARNING);

    assertThat(finding.subject()).isEqualTo("node h2:7625");
    assertThat(finding.problem())
        .isEqualTo("7 settings are others than at http://h1:7626: kvasir.a is 1 there and 2 here; b; c; d; e");
  }

  @Test
  void settingsThatAreTooManyToCompare() {
    NodeSeen many = new NodeSeen("h2:7625", true, "1.0", true, null, List.of());

    assertThat(only(router(List.of(), List.of(NODE, many), null), "node-settings", Severity.NOTE).subject())
        .isEqualTo("node h2:7625");
  }

  @Test
  void instancesOfLmCacheWithoutAWorker() {
    RouterExam router =
        new RouterExam("http://h1:7626", List.of(), List.of(), null, List.of("lm-7"), List.of(), List.of());

    assertThat(only(router, "lmcache", Severity.WARNING).remedy()).contains("kvasir.lmcache.workers { \"lm-7\"");
  }

  @ParameterizedTest
  @CsvSource({
    "zmq, events.endpoint", "push, events.key", "nats, events.servers", "redis, events.url", "grpc, events.address",
    "nats+push, events.servers", "tensorrt, no other reader"
  })
  void sourcesThatTheRouterIsNotConnectedTo(String kind, String remedy) {
    WorkerSource fine = new WorkerSource("a", kind, WorkerSource.State.CONNECTED, 0, null);
    WorkerSource gone = new WorkerSource("b", kind, WorkerSource.State.DISCONNECTED, 0, "the stream failed: x");

    Finding finding = only(withSources(fine, gone), "router-sources", Severity.ERROR);

    assertThat(finding.subject()).isEqualTo("worker b");
    assertThat(finding.problem()).contains("by " + kind).endsWith("last fault: the stream failed: x");
    assertThat(finding.remedy()).contains(remedy);
  }

  @Test
  void sourcesWithGaps() {
    WorkerSource gaps = new WorkerSource("b", "zmq", WorkerSource.State.SUSPECT, 3, "messages 1 to 2 were lost");

    assertThat(only(withSources(gaps), "router-sources", Severity.WARNING).problem()).contains("3 gaps");
  }

  private static RouterExam withSources(WorkerSource... sources) {
    return new RouterExam(
        "http://h1:7626", List.of(), List.of(NODE), null, List.of(), List.of(sources), List.of());
  }

  @Test
  void whatTheRouterSaysItself() {
    List<Problem> problems = List.of(new Problem(true, "no worker", "Add one."), new Problem(false, "slow", "Wait."));

    assertThat(findings(router(problems, List.of(NODE), null)))
        .extracting(Finding::check, Finding::severity, Finding::remedy)
        .containsExactly(
            tuple("router", Severity.ERROR, "Add one."),
            tuple("router", Severity.WARNING, "Wait."));
  }

  private static CertificateExam certificate(Duration left, @Nullable String host, String... names) {
    return new CertificateExam(
        "kvasir.gateway.tls", Path.of("tls.crt"), host, null, NOW.minus(Duration.ofDays(300)), NOW.plus(left),
        List.of(names), "CN=ca");
  }

  private static NodeSeen withCertificate(String address, Duration left, String authority) {
    return new NodeSeen(
        address, true, "1.0", true, SAME,
        List.of(new CertificateExam(
            "kvasir.cluster.tls", Path.of("node.crt"), null, null, NOW.minus(left), NOW.plus(left), List.of("kvasir"),
            authority)));
  }

  @Test
  void certificatesOfNodes_outOfTime_orOfSeveralAuthorities() {
    NodeSeen node = withCertificate("h1:7625", Duration.ofDays(90), "CN=ca, key 01");
    assertThat(findings(router(List.of(), List.of(node, node), null))).isEmpty();

    NodeSeen soon = withCertificate("h2:7625", Duration.ofDays(3), "CN=ca, key 01");
    assertThat(only(router(List.of(), List.of(node, soon), null), "certificates", Severity.WARNING).subject())
        .isEqualTo("node.crt of kvasir.cluster.tls at h2:7625");

    NodeSeen strange = withCertificate("h2:7625", Duration.ofDays(90), "CN=ca, key 02");
    assertThat(only(router(List.of(), List.of(node, strange), null), "node-certificates", Severity.WARNING).problem())
        .contains("CN=ca, key 01=[h1:7625]", "CN=ca, key 02=[h2:7625]");
  }

  @Test
  void certificates_outOfTime_orOfAnotherHost_orUnreadable() {
    RouterExam router = router(List.of(), List.of(NODE), null);
    Duration year = Duration.ofDays(365);

    assertThat(findings(router, certificate(year, "api.example.com", "*.example.com"))).isEmpty();
    assertThat(only(router, "certificates", Severity.ERROR, certificate(Duration.ofDays(-1), null)).problem())
        .contains("it is valid from");
    assertThat(only(router, "certificates", Severity.WARNING, certificate(Duration.ofDays(13), null)).problem())
        .contains("2026-12-05");
    assertThat(
        only(router, "certificates", Severity.ERROR, certificate(year, "a.b.example.com", "*.example.com")).remedy())
        .contains("subjectAltName");
    CertificateExam missing = CertificateExam.of("kvasir.gateway.tls", Path.of("nowhere.crt"), null);
    assertThat(only(router, "certificates", Severity.ERROR, missing).problem()).contains("cannot be read");
  }
}
