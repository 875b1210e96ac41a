package io.kvasir.execution.dialect;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.KvPull;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requests that vLLM 0.32 pulls and fetches by, as {@code kv_offload.tiering.p2p} reads it. */
final class PeerTierTest {
  private static final KvPull PULL = new KvPull("vllm-1#2", "10.0.0.7", 5712, 4096);

  private static @Nullable EngineRequest request(String target, String body) {
    return PeerTier.pull(target, body.getBytes(StandardCharsets.UTF_8), PULL, "r-1");
  }

  @Test
  void request_namesThePeer_andKeepsTheRest() {
    EngineRequest request =
        requireNonNull(
            request("/v1/chat/completions?x=1", "{\"model\": \"m\", \"seed\": 1e400, \"messages\": []}"));
    assertThat(request.path()).isEqualTo("/v1/chat/completions");
    assertThat(new String(request.body(), StandardCharsets.UTF_8))
        .matches(
            Pattern.quote(
                "{\"model\":\"m\",\"seed\":1e400,\"messages\":[],\"kv_transfer_params\":{\"remote_kv_source\":"
                    + "{\"kv_request_id\":\"r-1-")
                + "[0-9a-f]{16}"
                + Pattern.quote("\",\"remote_host\":\"10.0.0.7\",\"remote_port\":5712}}}"));
  }

  @Test
  void requestsThatClientsGaveOneId_pullUnderDifferentOnes() {
    EngineRequest one = requireNonNull(request("/v1/chat/completions", "{\"messages\": []}"));
    EngineRequest other = requireNonNull(request("/v1/chat/completions", "{\"messages\": []}"));
    assertThat(one.body()).isNotEqualTo(other.body());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/v1/embeddings       | {\"model\": \"m\"}",
      "/v1/chat/completions | {\"n\": 2}",
      "/v1/chat/completions | {\"kv_transfer_params\": {\"do_remote_decode\": true}}",
      "/v1/completions      | {\"prompt\": [\"a\", \"b\"]}",
      "/v1/chat/completions | not JSON"})
  void request_ofAnotherKind_staysAsItIs(String path, String body) {
    assertThat(request(path, body)).isNull();
  }
}
