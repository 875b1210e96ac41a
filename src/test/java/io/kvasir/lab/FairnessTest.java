package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class FairnessTest {
  @Test
  void of_oneGroupServedOfFour_isAQuarter() {
    GoodputSpread spread = GoodputSpread.of(groups(1, 0, 0, 0));

    assertThat(spread.jain()).isEqualTo(0.25);
    assertThat(spread.mean()).isEqualTo(0.25);
    assertThat(spread.worst()).isZero();
  }

  @Test
  void of_groupsServedAlike_isOne() {
    assertThat(GoodputSpread.of(groups(0.3, 0.3, 0.3)).jain()).isCloseTo(1, within(1e-12));
    assertThat(GoodputSpread.of(groups(0, 0)).jain()).isOne();
    assertThat(GoodputSpread.of(groups(0.5, 1)).jain()).isCloseTo(0.9, within(1e-12));
  }

  @Test
  void of_noGroups_isNotMeasured() {
    assertThat(GoodputSpread.of(List.of()).jain()).isNaN();
  }

  @Test
  void collector_countsEachRequestWithItsTenantAndItsProgram() {
    Fairness.Collector collector = new Fairness.Collector();
    collector.add(request("a", "x"), true, 10);
    collector.add(request("a", "x"), false, Double.NaN);
    collector.add(request("b", "y"), true, 30);
    collector.add(request("", "y"), true, 20);
    Fairness fairness = collector.fairness();

    assertThat(fairness.tenants())
        .containsExactly(new GroupGoodput("x", 2, 0.5, 10), new GroupGoodput("y", 2, 1, 29));
    assertThat(fairness.byTenant().groups()).isEqualTo(2);
    assertThat(fairness.byProgram().groups()).as("a request belongs to none").isEqualTo(2);
    assertThat(fairness.byProgram().mean()).isEqualTo(0.75);
  }

  @Test
  void divide_programsWithoutTenants_givesTheFirstMostAndKeepsProgramsTogether() {
    List<LabRequest> requests = new ArrayList<>();
    for (int i = 0; i < 4000; i++) {
      requests.add(LabRequest.at(i, 10, 1, BlockHashes.of(), "program " + i / 2));
    }
    List<LabRequest> divided = Tenants.divide(new WorkloadTrace(16, requests), 3).requests();

    Map<String, Long> counts =
        divided.stream().collect(Collectors.groupingBy(LabRequest::tenant, Collectors.counting()));
    // 1, 1/2 and 1/3 of 11/6.
    assertThat(counts.getOrDefault("tenant-1", 0L) / 4000.0).isCloseTo(6.0 / 11, within(0.03));
    assertThat(counts.getOrDefault("tenant-3", 0L) / 4000.0).isCloseTo(2.0 / 11, within(0.03));
    for (int i = 0; i < divided.size(); i += 2) {
      assertThat(divided.get(i).tenant()).isEqualTo(divided.get(i + 1).tenant());
    }
  }

  @Test
  void divide_aTraceThatNamesTenants_leavesItAlone() {
    WorkloadTrace trace = new WorkloadTrace(16, List.of(request("a", "x"), request("b", "")));

    assertThat(Tenants.divide(trace, 3)).isSameAs(trace);
    assertThat(Tenants.divide(new WorkloadTrace(16, List.of(request("a", ""))), 0).requests().getFirst().tenant())
        .isEmpty();
  }

  private static LabRequest request(String session, String tenant) {
    return LabRequest.at(0, 10, 1, BlockHashes.of(), session).of(tenant);
  }

  private static List<GroupGoodput> groups(double... goodputs) {
    List<GroupGoodput> groups = new ArrayList<>();
    for (double goodput : goodputs) {
      groups.add(new GroupGoodput("g" + groups.size(), 5, goodput, 1));
    }
    return groups;
  }
}
