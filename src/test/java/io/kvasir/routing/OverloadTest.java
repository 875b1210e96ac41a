package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers that are overloaded by their engines' own word. */
final class OverloadTest {
  private final Routing routing = new Routing(3);
  private final TestFleet fleet = TestFleet.of(3);

  private Set<Integer> chosen(Selector selector) {
    Set<Integer> slots = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      Selection selection = selector.select(fleet, Routing.request(4, 16, 70));
      slots.add(((Selection.Chosen) selection).slot());
    }
    return slots;
  }

  private Selector filtering(String overload) {
    return routing.selector(
        "mine",
        """
        mine {
          prepare = [ tokenize, block-hash ]
          filter = [ role, model, excluded, %s ]
          pick = random
          execute = forward
        }
        """
            .formatted(overload));
  }

  /** Everything speaks for the first but its engine. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "expected-cost", "prefix-aware", "cache-aware", "sticky", "weighted-sum", "additive-blocks", "lmetric",
        "work-left", "mooncake", "preble", "consistent-hash", "least-loaded", "power-of-two", "round-robin", "random"
      })
  void overloaded_getsNothing_underAnyProfile(String profile) {
    fleet.depth[0] = 4;
    fleet.waiting[0] = 32;
    assertThat(chosen(routing.selector(profile))).doesNotContain(0);
  }

  @Test
  void aFullCache_isOverload() {
    fleet.kvUse[1] = 0.96;
    assertThat(chosen(filtering("overload"))).containsExactlyInAnyOrder(0, 2);
  }

  @Test
  void allOverloaded_areAllTaken() {
    fleet.waiting[0] = 100;
    fleet.waiting[1] = 32;
    fleet.kvUse[2] = 1;
    assertThat(chosen(filtering("overload"))).containsExactlyInAnyOrder(0, 1, 2);
  }

  @Test
  void belowTheLimits_andUnknown_areNotOverloaded() {
    fleet.waiting[0] = 31;
    fleet.kvUse[0] = 0.94;
    fleet.waiting[1] = 0;
    assertThat(chosen(filtering("overload"))).containsExactlyInAnyOrder(0, 1, 2);
  }

  @Test
  void limits_areTheProfiles() {
    fleet.waiting[0] = 5;
    fleet.kvUse[1] = 0.8;
    assertThat(chosen(filtering("{ plugin = overload, waiting = 5, kv-use = 0.8 }"))).containsExactly(2);
  }
}
