package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.limits.SimulatedNodes;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LimitsHandlerTest {
  @Test
  void limits_sayWhatIsUsed() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Limits limits = new Limits(60, 0, 4, List.of(new Limits.Budget(1000, Duration.ofHours(1))));
    assertThat(nodes.limiter(0).admit(new Caller("a", "blue", Grants.ALL, limits, Limits.NONE))).isNotNull();

    JsonNode body = TestAdmin.call(new LimitsHandler(nodes.limiter(0)), "GET", "/admin/limits", "", 200);

    JsonNode limit = body.path("limits").path(0);
    assertThat(limit.path("limit").asText()).isEqualTo("key:a");
    assertThat(limit.path("own_share").asBoolean(true)).isFalse();
    JsonNode requests = limit.path("quotas").path(0);
    assertThat(requests.path("dimension").asText()).isEqualTo("requests");
    assertThat(requests.path("window_seconds").asDouble()).isEqualTo(60);
    assertThat(requests.path("amount").asLong()).isEqualTo(60);
    assertThat(requests.path("used").asLong()).isEqualTo(1);
    assertThat(requests.path("remaining").asLong()).isEqualTo(59);
    assertThat(requests.path("reset_seconds").asDouble()).isEqualTo(1);
    assertThat(limit.path("quotas").findValuesAsText("dimension"))
        .containsExactly("requests", "concurrent", "budget");
  }
}
