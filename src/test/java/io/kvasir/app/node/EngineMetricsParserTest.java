package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.EngineReport;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is found in engines' metrics. */
final class EngineMetricsParserTest {
  private static Map<Integer, EngineReport> read(String text) {
    return read(text, Integer.MAX_VALUE);
  }

  private static Map<Integer, EngineReport> read(String text, int piece) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    EngineMetricsParser parser = new EngineMetricsParser();
    for (int from = 0; from < bytes.length; from += Math.min(piece, bytes.length)) {
      int to = (int) Math.min(bytes.length, (long) from + piece);
      parser.accept(Arrays.copyOfRange(bytes, from, to), to - from);
    }
    return parser.finish();
  }

  @Test
  void vllm_twoRanks() {
    assertThat(
            read(
                """
                # HELP vllm:num_requests_running Number of requests in model execution batches.
                # TYPE vllm:num_requests_running gauge
                vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-32B"} 12.0
                vllm:num_requests_running{engine="1",model_name="Qwen/Qwen3-32B"} 3.0
                vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen3-32B"} 40.0
                vllm:num_requests_waiting{engine="1",model_name="Qwen/Qwen3-32B"} 0.0
                vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 1000.0
                vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen3-32B"} 0.97
                vllm:kv_cache_usage_perc{engine="1",model_name="Qwen/Qwen3-32B"} 1.2e-2
                vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="Qwen/Qwen3-32B"} 7.0
                """))
        .containsOnly(
            Map.entry(0, new EngineReport(12, 40, 0.97)), Map.entry(1, new EngineReport(3, 0, 0.012)));
  }

  @Test
  void sglang_byRank() {
    assertThat(
            read(
                """
                sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="0",pp_rank="0",dp_rank="1"} 5.0
                sglang:num_queue_reqs{engine_type="unified",model_name="m",tp_rank="0",pp_rank="0",dp_rank="1"} 9.0
                sglang:token_usage{engine_type="unified",model_name="m",tp_rank="0",pp_rank="0",dp_rank="1"} 0.5
                """))
        .containsOnly(Map.entry(1, new EngineReport(5, 9, 0.5)));
  }

  @Test
  void llamaCpp_withoutLabels() {
    assertThat(read("llamacpp:requests_processing 2\nllamacpp:requests_deferred 3 1723000000500\r\n"))
        .containsOnly(Map.entry(0, new EngineReport(2, 3, -1)));
  }

  @Test
  void seriesOfOneRank_addUp_andTheFullerCacheCounts() {
    assertThat(
            read(
                """
                vllm:num_requests_waiting{engine="0",model_name="a"} 4
                vllm:num_requests_waiting{engine="0",model_name="b"} 5
                vllm:kv_cache_usage_perc{engine="0",model_name="a"} 0.2
                vllm:gpu_cache_usage_perc{engine="0",model_name="b"} 0.3
                """))
        .containsOnly(Map.entry(0, new EngineReport(-1, 9, 0.3)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\n\n\n",
        "vllm:num_requests_waiting",
        "vllm:num_requests_waiting{",
        "vllm:num_requests_waiting{engine=\"0\"}",
        "vllm:num_requests_waiting{engine=\"0\"} many",
        "vllm:num_requests_waiting NaN",
        "vllm:num_requests_waiting +Inf",
        "vllm:num_requests_waiting -1",
        "{\"not\": \"metrics\"}",
        "python_gc_objects_collected_total{generation=\"0\"} 1",
        "#vllm:num_requests_waiting 1"
      })
  void nothingToRead_isNothing(String text) {
    assertThat(read(text)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 40, 41, 42, 100})
  void textInPieces_isReadAsAWhole(int piece) {
    String text =
        """
        # TYPE vllm:num_requests_running gauge
        vllm:num_requests_running{engine="0",model_name="ä"} 12.0
        vllm:num_requests_waiting{engine="1"} 3.0

        vllm:kv_cache_usage_perc{engine="1"} 0.25""";
    assertThat(read(text, piece))
        .containsOnly(Map.entry(0, new EngineReport(12, -1, -1)), Map.entry(1, new EngineReport(-1, 3, 0.25)));
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 5_000, 40_000})
  void lineWithoutEnd_isSkipped_andWhatFollowsIsRead(int piece) {
    String endless = "vllm:num_requests_running{model_name=\"" + "x".repeat(30_000) + "\"} 1";
    assertThat(read(endless + "\nvllm:num_requests_waiting 2\n", piece))
        .extractingByKey(0)
        .extracting(EngineReport::waiting)
        .isEqualTo(2);
    assertThat(read(endless, 100)).isEmpty();
  }

  @Test
  void labelsMayHoldAnything() {
    assertThat(read("vllm:num_requests_waiting{model_name=\"a} \\\" b 7\",engine=\"2\"} 3"))
        .containsOnly(Map.entry(2, new EngineReport(-1, 3, -1)));
  }
}
