package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.cell.CellMove;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.execution.FakeCells;
import io.kvasir.telemetry.AuditLog;
import java.io.IOException;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class LogHandlerTest {
  private final FakeCells cells = new FakeCells();
  private final AuditLog audit = TestAdmin.audit();
  private final LogHandler log = new LogHandler(audit, cells.fleet);

  @BeforeEach
  void changes() {
    cells.fleet.healthChanges.add(new HealthChange(4000, "w#1", "w", Health.UNHEALTHY, "it is gone"));
    cells.fleet.healthChanges.add(new HealthChange(2000, "w#1", "w", Health.HEALTHY, ""));
    cells.fleet.moves.add(new CellMove(2500, "m", "10.0.0.1:7355", "10.0.0.2:7355", CellMove.Reason.HOME_LOST));
    for (int second : new int[] {1, 3}) {
      audit.add(
          AdminResponse.object()
              .put("timestamp", "1970-01-01T00:00:0%dZ".formatted(second))
              .put("principal", "ada").put("method", "POST").put("path", "/admin/workers/w/drain")
              .put("outcome", "success").put("client", "127.0.0.1"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'', health administration move health administration",
    "?kind=move, move",
    "?kind=health, health health",
    "?kind=administration, administration administration",
    "?limit=2, health administration"
  })
  void entries_areNewestFirst(String query, String kinds) throws IOException {
    List<String> found = StreamSupport.stream(entries(query).spliterator(), false)
        .map(entry -> entry.path("kind").asText())
        .toList();

    assertThat(found).containsExactly(kinds.split(" ", -1));
  }

  @Test
  void entries_sayWhatAndWho() throws IOException {
    JsonNode entries = entries("");

    assertThat(entries.path(0).path("worker").asText()).isEqualTo("w#1");
    assertThat(entries.path(0).path("what").asText()).isEqualTo("unhealthy");
    assertThat(entries.path(0).path("why").asText()).isEqualTo("it is gone");
    assertThat(entries.path(1).path("who").asText()).isEqualTo("ada");
    assertThat(entries.path(1).path("what").asText()).isEqualTo("POST /admin/workers/w/drain");
    assertThat(entries.path(2).path("cell").asText()).isEqualTo("m");
    assertThat(entries.path(2).path("what").asText()).isEqualTo("moved from 10.0.0.1:7355 to 10.0.0.2:7355");
    assertThat(entries.path(2).path("why").asText()).contains("its home was lost");
  }

  @Test
  void changesByAdministrators_areKeptInALimitedNumber() throws IOException {
    for (int i = 0; i < 3000; i++) {
      audit.add(AdminResponse.object().put("timestamp", "1970-01-01T00:01:00Z").put("request_id", "r" + i));
    }

    assertThat(audit.latest(5000)).hasSize(1000);
    assertThat(audit.latest(1).getFirst().path("request_id").asText()).isEqualTo("r2999");
  }

  @ParameterizedTest
  @ValueSource(strings = {"?kind=other", "?limit=0", "?limit=1001", "?limit=x"})
  void whatIsAskedWrongly_isTold(String query) throws IOException {
    TestAdmin.call(log, "GET", "/admin/log" + query, "", 400);
  }

  private JsonNode entries(String query) throws IOException {
    return TestAdmin.call(log, "GET", "/admin/log" + query, "", 200).path("log");
  }
}
