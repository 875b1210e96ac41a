package io.kvasir.pools;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PoolSetTest {
  @ParameterizedTest
  @CsvSource({
    "llama-picker.default, true",
    "LLAMA-picker.default:9002, true",
    "llama-picker.default.svc.cluster.local:9002, true",
    "outbound|9002||llama-picker.default.svc.cluster.local, true",
    "llama-picker.defaults, false",
    "other.llama-picker.default, false",
    "10.0.0.1:9002, false",
    "[::1]:9002, false",
  })
  void authority_meansThePoolOfItsService(String authority, boolean meant) {
    assertThat(pool("llama", Map.of(), List.of()).isCalledBy(authority)).isEqualTo(meant);
  }

  @Test
  void workers_belongByLabelsAndPort() {
    Pool pool = pool("llama", Map.of("app", "llama"), List.of(8000, 8001));

    assertThat(pool.has(Map.of("app", "llama", "zone", "a"), 8001)).isTrue();
    assertThat(pool.has(Map.of("app", "llama"), 8002)).isFalse();
    assertThat(pool.has(Map.of("app", "other"), 8000)).isFalse();
    assertThat(pool("all", Map.of(), List.of()).has(Map.of(), 1)).isTrue();
    assertThat(Pool.labelled("ns", "a", List.of(), Set.of()).has(Map.of(Pool.LABEL, "ns/a"), 1)).isTrue();
  }

  @Test
  void rewrite_exactGoesBeforeGeneral_thenTheOldest() {
    PoolSet pools =
        new PoolSet(
            List.of(),
            List.of(
                rewrite("p", Set.of(), "general"),
                rewrite("p", Set.of("gpt"), "old"),
                rewrite("p", Set.of("gpt"), "new"),
                rewrite("q", Set.of("x"), "other")),
            List.of());

    assertThat(pools.rewritten("p", "gpt", 0)).isEqualTo(new ModelRewrite.Choice("to-old", true, "old"));
    assertThat(pools.rewritten("p", "x", 0)).isEqualTo(new ModelRewrite.Choice("to-general", false, "general"));
    assertThat(pools.rewritten("q", "gpt", 0)).isNull();
  }

  @ParameterizedTest
  @CsvSource({"0, a", "0.74, a", "0.75, b", "0.999, b"})
  void rewrite_dividesByWeight(double random, String target) {
    PoolSet pools =
        new PoolSet(
            List.of(),
            List.of(
                new ModelRewrite(
                    "by-weight",
                    "p",
                    List.of(
                        new ModelRewrite.Rule(
                            Set.of(), List.of(new ModelRewrite.Target("a", 3), new ModelRewrite.Target("b", 1)))))),
            List.of());

    assertThat(pools.rewritten("p", "gpt", random)).isEqualTo(new ModelRewrite.Choice("by-weight", false, target));
  }

  @Test
  void priority_isThatOfThePoolsOwnObjective() {
    PoolSet pools =
        new PoolSet(List.of(), List.of(), List.of(new Objective("p", "batch", -1), new Objective("q", "batch", 7)));

    assertThat(pools.priority("q", "batch")).isEqualTo(7);
    assertThat(pools.priority("q", "unknown")).isZero();
  }

  @Test
  void bothSources_areThere_andTheConfigurationGoesFirst() {
    LivePools live = new LivePools();
    Pool configured = pool("a", Map.of("by", "configuration"), List.of());
    Pool found = pool("b", Map.of(), List.of());
    live.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(List.of(pool("a", Map.of(), List.of()), found), List.of(), List.of()));
    live.replace(LivePools.Source.CONFIGURATION, new PoolSet(List.of(configured), List.of(), List.of()));

    assertThat(live.current().pools()).containsExactly(configured, found);

    live.replace(LivePools.Source.KUBERNETES, PoolSet.NONE);

    assertThat(live.current().pools()).containsExactly(configured);
  }

  private static ModelRewrite rewrite(String pool, Set<String> models, String target) {
    return new ModelRewrite(
        "to-" + target, pool, List.of(new ModelRewrite.Rule(models, List.of(new ModelRewrite.Target(target, 1)))));
  }

  private static Pool pool(String name, Map<String, String> selector, List<Integer> ports) {
    return new Pool("default", name, selector, ports, Set.of("llama-picker.default"), Set.of(), 0);
  }
}
