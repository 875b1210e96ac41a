package io.kvasir.gateway.admin.tenants;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.admin.tenants.TenantReport.LimitUse;
import io.kvasir.gateway.admin.vitals.ClusterVitals.Answers;
import io.kvasir.gateway.traffic.TenantTraffic.Figures;
import io.kvasir.gateway.traffic.TenantTraffic.Totals;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class TenantsHandlerTest {
  private final SequencedMap<String, List<TenantReport>> nodes = new LinkedHashMap<>();

  @Test
  void traffic_isOfAllNodes_andThoseThatDoNotAnswerAreNamed() {
    nodes.put("here:1", List.of(report("a", 2), report(null, 1)));
    nodes.put("there:1", List.of(report("b", 5), report("a", 1.5), report(null, 0.5)));

    JsonNode body = tenants("silent:1");
    assertThat(body.path("scope").asText()).isEqualTo("cluster");
    assertThat(body.path("nodes").asInt()).isEqualTo(2);
    assertThat(body.path("missing_nodes")).hasToString("[\"silent:1\"]");
    assertThat(body.path("tenants")).extracting(each -> each.path("tenant").asText())
        .containsExactly("b", "a", "(all others)");
    assertThat(body.at("/tenants/1")).hasToString(
        "{'tenant':'a','requests_per_s':3.5,'in_flight':4,'refused':2,'prompt_tokens':200,'cached_tokens':80,"
            .replace('\'', '"')
            + "'output_tokens':20,'ttft_ms':500.0,'limits':[]}".replace('\'', '"'));
    assertThat(body.at("/tenants/2/requests_per_s").asDouble()).isEqualTo(1.5);
  }

  @Test
  void limit_isAsUsedAsTheNodeSaysThatKnowsOfMost() {
    nodes.put("here:1", List.of(report("a", 1, new LimitUse("tokens", 60_000, 70, 100))));
    nodes.put(
        "there:1",
        List.of(
            report(
                "a", 1, new LimitUse("tokens", 60_000, 90, 100), new LimitUse("budget", 3_600_000, 5, 10),
                new LimitUse("budget", 86_400_000, 6, 20))));

    assertThat(tenants().at("/tenants/0/limits")).hasToString(
        "[{'limit':'tokens','used':90,'of':100},{'limit':'budget','used':5,'of':10},".replace('\'', '"')
            + "{'limit':'budget','used':6,'of':20}]".replace('\'', '"'));
  }

  @Test
  void manyTenants_areOneBeyondTheMost() {
    List<Figures> traffic = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      traffic.add(figures("tenant-" + i, i));
    }
    List<TenantReport> told = TenantReport.ofNode(traffic, List.of());
    assertThat(told).hasSize(TenantReport.MOST_OF_NODE + 1);
    assertThat(told.getFirst().figures().tenant()).isEqualTo("tenant-999");
    assertThat(told.getLast().figures().tenant()).isNull();
    nodes.put("here:1", told);

    JsonNode tenants = tenants().path("tenants");
    assertThat(tenants).hasSize(51);
    double sum = 0;
    for (JsonNode tenant : tenants) {
      sum += tenant.path("requests_per_s").asDouble();
    }
    assertThat(sum).isEqualTo(999 * 1000 / 2.0);
  }

  private JsonNode tenants(String... missing) {
    return new TenantsHandler(() -> new Answers<>(nodes, List.of(missing))).topic().state().get();
  }

  private static TenantReport report(@Nullable String tenant, double rate, LimitUse... limits) {
    return new TenantReport(figures(tenant, rate), List.of(limits));
  }

  private static Figures figures(@Nullable String tenant, double rate) {
    return new Figures(tenant, rate, 2, new Totals(3, 1, 100, 40, 10, 2, 1));
  }
}
