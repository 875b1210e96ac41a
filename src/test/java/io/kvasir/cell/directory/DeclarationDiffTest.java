package io.kvasir.cell.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class DeclarationDiffTest {
  @Test
  void of_newChangedAndGone() {
    DeclarationDiff declared =
        DeclarationDiff.of(
            PodSource.FILE,
            List.of(new DiscoveredPod(pod("new", 1), false), new DiscoveredPod(pod("changed", 2), false)),
            Map.of(
                "changed", new PodEntry(pod("changed", 1), PodSource.FILE),
                "gone", new PodEntry(pod("gone", 1), PodSource.FILE),
                "other", new PodEntry(pod("other", 1), PodSource.KUBERNETES)));
    assertThat(declared.put())
        .containsExactly(
            new PodEntry(pod("new", 1), PodSource.FILE), new PodEntry(pod("changed", 2), PodSource.FILE));
    assertThat(declared.removed()).containsExactly("gone");
    assertThat(declared.refused()).isEmpty();
  }

  @Test
  void of_theSame_changesNothing() {
    PodEntry known = new PodEntry(pod("a", 1), true, PodSource.FILE, false, null);
    DeclarationDiff declared =
        DeclarationDiff.of(PodSource.FILE, List.of(new DiscoveredPod(pod("a", 1), false)), Map.of("a", known));
    assertThat(declared.changesNothing()).isTrue();
  }

  @Test
  void of_drainedByHand_staysDrained() {
    PodEntry known = new PodEntry(pod("a", 1), true, PodSource.FILE, false, null);
    DeclarationDiff declared =
        DeclarationDiff.of(PodSource.FILE, List.of(new DiscoveredPod(pod("a", 2), false)), Map.of("a", known));
    assertThat(declared.put()).singleElement().extracting(PodEntry::draining).isEqualTo(true);
  }

  @Test
  void of_nameOfAnotherSource_isRefused() {
    DeclarationDiff declared =
        DeclarationDiff.of(
            PodSource.FILE,
            List.of(new DiscoveredPod(pod("a", 2), false)),
            Map.of("a", new PodEntry(pod("a", 1), PodSource.CONFIG)));
    assertThat(declared.changesNothing()).isTrue();
    assertThat(declared.refused()).singleElement().asString().contains("'a'");
  }

  private static PodSpec pod(String name, int capacity) {
    return TestPods.pod(name)
        .url(URI.create("http://h:1"))
        .maxInFlight(8)
        .engine("e")
        .capacityBlocks(capacity)
        .build();
  }
}
