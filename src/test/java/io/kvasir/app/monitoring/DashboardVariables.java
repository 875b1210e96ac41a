package io.kvasir.app.monitoring;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The variables at the top of every dashboard: data source, cluster, model, profile, and the SLO of first tokens. */
final class DashboardVariables {
  /** Upper bounds of kvasir_ttft_seconds, as they are written in its label {@code le}. */
  static final List<String> TTFT_SLOS = List.of("0.128", "0.256", "0.512", "1.024", "2.048", "4.096", "8.192");

  private static final String TTFT_SLO = "1.024";

  private DashboardVariables() {}

  /** The variables whose values are asked for, by the label that they choose. */
  static Map<String, PromQl> queried() {
    Map<String, PromQl> queried = new LinkedHashMap<>();
    queried.put("cluster", new PromQl("kvasir_cluster_cut_off"));
    queried.put("model", new PromQl("kvasir_requests_total{cluster=~\"$cluster\"}"));
    queried.put("profile", new PromQl("kvasir_requests_total{cluster=~\"$cluster\"}"));
    return queried;
  }

  /** The matchers of a metric with these labels. */
  static String matchers(Set<String> labels) {
    List<String> matchers = new ArrayList<>();
    for (String label : queried().keySet()) {
      if (labels.contains(label)) {
        matchers.add("%s=~\"$%s\"".formatted(label, label));
      }
    }
    return String.join(", ", matchers);
  }

  static ArrayNode all() {
    ArrayNode variables = JsonNodeFactory.instance.arrayNode();
    variable(variables, "datasource", "Data source", "datasource").put("query", "prometheus").put("regex", "")
        .put("refresh", 1).put("includeAll", false).put("multi", false);
    queried().forEach((label, metric) -> {
      String query = "label_values(" + metric + ", " + label + ")";
      String title = label.substring(0, 1).toUpperCase(Locale.ROOT) + label.substring(1);
      ObjectNode variable = variable(variables, label, title, "query");
      variable.set("datasource", Dashboard.dataSource());
      variable.putObject("query").put("qryType", 1).put("query", query)
          .put("refId", "PrometheusVariableQueryEditor-VariableQuery");
      // What a series does not say matches too: a Prometheus that names no cluster.
      variable.put("allValue", ".*").put("includeAll", true).put("multi", true).put("refresh", 2).put("sort", 1)
          .put("regex", "");
      ObjectNode current = variable.putObject("current");
      current.put("selected", true);
      current.putArray("text").add("All");
      current.putArray("value").add("$__all");
      variable.putArray("options");
    });
    ObjectNode slo =
        variable(variables, "ttft_slo", "TTFT SLO, s", "custom").put("query", String.join(",", TTFT_SLOS))
            .put("includeAll", false).put("multi", false);
    slo.putObject("current").put("selected", true).put("text", TTFT_SLO).put("value", TTFT_SLO);
    ArrayNode options = slo.putArray("options");
    TTFT_SLOS.forEach(each ->
        options.addObject().put("selected", each.equals(TTFT_SLO)).put("text", each).put("value", each));
    return variables;
  }

  private static ObjectNode variable(ArrayNode variables, String name, String label, String type) {
    return variables.addObject().put("name", name).put("label", label).put("type", type).put("hide", 0)
        .put("skipUrlSync", false);
  }
}
