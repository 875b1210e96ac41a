package io.kvasir.engines;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The labels of {@code vllm:cache_config_info}. */
final class CacheMetricsTest {
  @Test
  void valueOfAnyLength_isRead() {
    String longest = "x\\\"".repeat(1 << 20);
    CacheDescription cache =
        new CacheMetrics(
            "vllm:cache_config_info{block_size=\"16\",other=\"" + longest + "\",num_gpu_blocks=\"500\"} 1.0\n")
            .cache();
    assertThat(cache.blockSize()).isEqualTo(16);
    assertThat(cache.blocks()).isEqualTo(500);
  }
}
