package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.AuditLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Calls a part of the admin API without a socket and without keys, and holds its answers against the document. */
public final class TestAdmin {
  private static final ObjectMapper JSON = new ObjectMapper();

  private TestAdmin() {}

  /** An audit log that a test does not read. */
  static AuditLog audit() {
    return new AuditLog(null, new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM);
  }

  /** The JSON answered to a request, whose status has to be that. */
  public static JsonNode call(AdminResource part, String method, String target, String body, int status)
      throws IOException {
    AdminApi api = new AdminApi(
        new AdminKeys(List.of(), null), List.of(part), audit(), new Metrics(new PrometheusRegistry()));
    DirectExchange request = new DirectExchange(method, target, body.getBytes(StandardCharsets.UTF_8));
    Response.Buffered answer = (Response.Buffered) api.handle(request);
    assertThat(answer.status()).as(new String(answer.body(), StandardCharsets.UTF_8)).isEqualTo(status);
    JsonNode json = JSON.readTree(answer.body());
    for (AdminRoute route : api.routes()) {
      if (route.method().equals(method) && route.matches(request.path())) {
        AdminDocument.assertDescribed(route.method() + " " + route.path(), status, json);
      }
    }
    return json;
  }
}
