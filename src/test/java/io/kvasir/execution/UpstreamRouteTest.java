package io.kvasir.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PrefixHold;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class UpstreamRouteTest {
  private static final Worker WORKER =
      new Worker(
          "w", "w", URI.create("http://127.0.0.1:9000"), 0, 1, 0, Role.BOTH, Set.of("m"), Map.of(), 100, "e", null);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "x; depth=7/8                 | COMPUTED | x; depth=7/8; held=prefix:12",
        "x; waited=237; held=busy:210 | OVERDUE  | x; waited=237; held=busy:210,prefix:12; prefix=overdue",
        "x; held=busy:210; by prefill | COMPUTED | x; held=busy:210; by prefill; held=prefix:12"
      })
  void hold_isInTheReason(String reason, PrefixHold hold, String expected) {
    UpstreamRoute route = new UpstreamRoute(WORKER, null, reason).held(hold, 12);
    assertThat(route.reason()).isEqualTo(expected);
  }
}
