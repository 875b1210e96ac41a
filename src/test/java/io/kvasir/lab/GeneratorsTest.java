package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class GeneratorsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "gen:shared-prefix?rate=20", "gen:sessions", "gen:agents?sessions=20", "gen:bursts?seconds=60"
      })
  void at_again_isTheSameAndMakesSense(String name) {
    TraceSource source = Generators.parse(name);

    WorkloadTrace trace = source.at(1, 3);

    assertThat(source.name()).isEqualTo(name);
    List<LabRequest> again = source.at(1, 3).requests();
    assertThat(again).hasSameSizeAs(trace.requests());
    assertThat(trace.requests()).isNotEmpty();
    for (int i = 0; i < trace.requests().size(); i++) {
      LabRequest request = trace.requests().get(i);
      assertThat(again.get(i).arrivalMs()).isEqualTo(request.arrivalMs());
      assertThat(again.get(i).promptTokens()).isEqualTo(request.promptTokens());
      assertThat(hashes(again.get(i))).isEqualTo(hashes(request));
      assertThat(request.parent()).isLessThan(i);
      assertThat(trace.promptBlocks(request)).isEqualTo(request.promptTokens() / trace.blockSize());
      assertThat(LongStream.of(hashes(request)).filter(hash -> hash != 0).distinct().count())
          .isEqualTo(request.chain().length());
    }
  }

  @Test
  void agents_sendMostlyWhatWasSentBefore() {
    assertThat(Generators.parse("gen:agents?sessions=30").at(1, 1).ceiling()).isBetween(0.94, 0.98);
  }

  @Test
  void sharedPrefix_hasItsGroupsAndLoad() {
    WorkloadTrace trace = Generators.parse("gen:shared-prefix?groups=10&prompts=2&rate=30&seconds=100").at(2, 1);

    assertThat(trace.requests()).hasSizeBetween(5700, 6300);
    assertThat(trace.requests().stream().map(request -> request.chain().hash(0)).distinct()).hasSize(10);
    assertThat(trace.requests().stream().map(request -> request.chain().hash(449)).distinct()).hasSize(20);
  }

  @Test
  void sharedPrefix_skewed_hasHotGroups() {
    WorkloadTrace trace = Generators.parse("gen:shared-prefix?groups=10&skew=1.5&rate=100&seconds=60").at(1, 1);

    Map<Long, Long> byGroup =
        trace.requests().stream()
            .map(request -> request.chain().hash(0))
            .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    double hottest = byGroup.values().stream().mapToLong(Long::longValue).max().orElse(0);
    assertThat(hottest / trace.requests().size()).isCloseTo(0.50, within(0.05));
  }

  @Test
  void sessions_scaled_areMorePeopleAtOnce() {
    TraceSource source = Generators.parse("gen:sessions?sessions=4&turns=3&repeat=2");

    List<LabRequest> requests = source.at(2, 1).requests();

    assertThat(requests).hasSize(8 * 3 * 2);
    assertThat(requests.stream().filter(request -> request.parent() == LabRequest.NO_PARENT)).hasSize(8);
    assertThat(hashes(requests.get(1))).startsWith(requests.get(0).chain().first(90));
  }

  @Test
  void parse_whatIsWrong_isAllTold() {
    assertThatThrownBy(() -> Generators.parse("gen:agents?turns=many&colour=3&x"))
        .hasMessageContaining("turns is 'many'")
        .hasMessageContaining("there is no colour")
        .hasMessageContaining("'x' is no KEY=NUMBER");
    assertThatThrownBy(() -> Generators.parse("gen:dreams")).hasMessageContaining("shared-prefix, sessions, agents");
  }

  private static long[] hashes(LabRequest request) {
    return request.chain().first(request.chain().length());
  }
}
