package io.kvasir.lmcache;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.lmcache.Instances.Instance;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class InstancesTest {
  private static final long SECOND = 1_000_000_000L;

  private final Instances instances = new Instances(60 * SECOND);

  private static ControllerWorker row(String instance, int rank, double heartbeat, long keys) {
    return new ControllerWorker(instance, rank, "10.0.0." + instance.length(), 1000, heartbeat, keys);
  }

  private Instance only(List<ControllerWorker> rows, long now) {
    return instances.of(rows, now).firstEntry().getValue();
  }

  @Test
  void ranksOfAnInstance_areSummedUp() {
    Instance instance = only(List.of(row("a", 0, 1000, 10), row("a", 1, 1000, 12)), 0);

    assertThat(instance.keys()).isEqualTo(22);
    assertThat(instance.ranks()).isEqualTo(2);
    assertThat(instance.addresses()).containsExactly("10.0.0.1");
  }

  @Test
  void rankWithoutFurtherHeartbeats_isStale_untilTheNextOne() {
    List<ControllerWorker> first = List.of(row("a", 0, 1010, 10), row("a", 1, 1010, 12));
    assertThat(only(first, 0).keys()).isEqualTo(22);

    List<ControllerWorker> oneHeartbeat = List.of(row("a", 0, 1010, 10), row("a", 1, 1090, 12));
    Instance half = only(oneHeartbeat, 61 * SECOND);
    assertThat(half.keys()).isEqualTo(12);
    assertThat(half.stale()).isEqualTo(1);
    assertThat(half.ageNanos()).isZero();

    assertThat(only(List.of(row("a", 0, 1095, 10), row("a", 1, 1090, 12)), 65 * SECOND).keys()).isEqualTo(22);
  }

  @Test
  void rankThatNeverSendsHeartbeats_alwaysCounts() {
    List<ControllerWorker> rows = List.of(row("a", 0, 1000, 10));
    assertThat(only(rows, 0).keys()).isEqualTo(10);

    Instance later = only(rows, 86_400 * SECOND);
    assertThat(later.keys()).isEqualTo(10);
    assertThat(later.alive()).isFalse();
  }

  @Test
  void rankThatWasDeadWhenTheRouterStarted_isFoundByTheOthersHeartbeats() {
    Instance dead = instances.of(List.of(row("a", 0, 1200, 10), row("dead", 0, 1100, 99)), 5 * SECOND).get("dead");

    assertThat(dead).isNotNull().returns(0L, Instance::keys).returns(true, Instance::isStale);
  }

  @Test
  void keys_ofTwoInstancesOfAWorker_areThoseOfTheLarger_andStaleOnesDoNotCount() {
    WorkerMap map = new WorkerMap(Map.of("a", "w", "bb", "w"));

    assertThat(map.keys(instances.of(List.of(row("a", 0, 1000, 10), row("bb", 0, 1000, 30)), 0).values()))
        .isEqualTo(Map.of("w", 30L));
    assertThat(
            map.keys(
                new Instances(SECOND)
                    .of(List.of(row("a", 0, 1010, 10), row("bb", 0, 1300, 30)), 0)
                    .values()))
        .isEqualTo(Map.of("w", 30L));
  }

  @Test
  void mismatches_nameEveryInstanceAndWorker() {
    WorkerMap map = new WorkerMap(Map.of("lm-0", "vllm-0", "lm-1", "vllm-0", "lm-9", "vllm-9"));
    List<ControllerWorker> rows = List.of(
        new ControllerWorker("lm-0", 0, "10.0.0.1", 0, 0, 1),
        new ControllerWorker("lm-1", 0, "10.0.0.2", 0, 0, 1),
        new ControllerWorker("vllm-1", 0, "10.0.0.3", 0, 0, 1),
        new ControllerWorker("stranger", 0, "10.0.0.4", 0, 0, 1),
        new ControllerWorker("lmcache_default_instance", 0, "10.0.0.5", 0, 0, 1),
        new ControllerWorker("lmcache_default_instance", 1, "10.0.0.6", 0, 0, 1));

    assertThat(map.mismatches(instances.of(rows, 0).values(), Set.of("vllm-0", "vllm-1"), "controller").messages())
        .containsExactly(
            "LMCache instance 'lmcache_default_instance' belongs to no worker: name its worker in"
                + " kvasir.lmcache.workers",
            "LMCache instance 'stranger' belongs to no worker: name its worker in kvasir.lmcache.workers",
            "worker 'vllm-0' has the LMCache instances lm-0, lm-1: only the one that holds most counts",
            "LMCache instance 'lmcache_default_instance' reports from 10.0.0.5, 10.0.0.6: give every engine an"
                + " lmcache_instance_id of its own",
            "kvasir.lmcache.workers names the worker 'vllm-9', which the fleet does not have",
            "kvasir.lmcache.workers names the LMCache instance 'lm-9', which the controller does not know");
  }
}
