package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.client.ScriptedPod;
import io.kvasir.programs.ProgramReader;
import io.kvasir.programs.ProgramSources;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.Slots;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a cell learns of the program that a request is a turn of. */
final class ProgramsTest {
  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    ProgramSources sources =
        new ProgramSources(
            List.of("X-Session"), List.of("metadata.session"), List.of("X-Parent"), List.of(), List.of("X-Final"));
    router =
        new TestRouter(
            TestRouter.EXECUTION,
            GatewaySettings.defaults().with(new ProgramReader(sources)));
    pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @Test
  void headers_nameProgramParentAndEnd() throws Exception {
    PreparedSlots slots = sent("", "X-Session", "s1", "X-Parent", "s0", "X-Final", "true");

    assertThat(slots.get(Slots.PROGRAM)).isEqualTo("/s1");
    assertThat(slots.get(Slots.PROGRAM_PARENT)).isEqualTo("/s0");
    assertThat(slots.get(Slots.PROGRAM_LAST)).isOne();
  }

  @Test
  void aField_namesTheProgram_whereNoHeaderDoes() throws Exception {
    assertThat(sent(",\"metadata\":{\"session\":\"s2\"}").get(Slots.PROGRAM)).isEqualTo("/s2");
    assertThat(sent(",\"metadata\":{\"session\":\"s2\"}", "X-Session", "s1").get(Slots.PROGRAM)).isEqualTo("/s1");
  }

  @Test
  void aRequestThatNamesNone_hasNone() throws Exception {
    assertThat(sent("", "X-Parent", "s0", "X-Final", "true")).isEqualTo(PreparedSlots.EMPTY);
  }

  @Test
  void aRequestThatNamesNone_isItsTenants() throws Exception {
    String tenant = sent("", "Authorization", "Bearer one").get(Slots.PROGRAM_TENANT);
    assertThat(tenant).startsWith("key-");
    assertThat(sent("", "Authorization", "Bearer one").get(Slots.PROGRAM_TENANT)).isEqualTo(tenant);
    assertThat(sent("", "Authorization", "Bearer other").get(Slots.PROGRAM_TENANT)).isNotEqualTo(tenant);
  }

  private PreparedSlots sent(String more, String... headers) throws Exception {
    String body = "{\"model\":\"m\",\"prompt\":\"Hello\"%s}".formatted(more);
    assertThat(router.post("/v1/completions", body, headers).statusCode()).isEqualTo(200);
    return Objects.requireNonNull(router.cells.requests.poll()).prepared();
  }
}
