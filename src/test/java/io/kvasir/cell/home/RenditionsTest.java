package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.index.Tier;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Decisions in a cell whose workers prepare prompts in three ways: w0 and w1 as most do, w2 and w3 each otherwise. */
final class RenditionsTest {
  private static final int BLOCK = 16;
  private static final Chain MOST = chain(1, 20);
  private static final Chain SGLANG = chain(2, 24);
  private static final Chain OLDER = chain(3, 16);

  /** Its own ends with its last block, of which an engine computes a token in any case. */
  private static final DecisionRequest.Prompt PROMPT =
      new DecisionRequest.Prompt(
          MOST, 20 * BLOCK + 1,
          List.of(new Rendition("SGLang", SGLANG, 24 * BLOCK), new Rendition("older", OLDER, 16 * BLOCK + 9)));

  private Members members;

  @BeforeEach
  void seat() {
    CellServices services = TestServices.deciding("expected-cost").build();
    members = new Members("m", services);
    for (int i = 0; i < 4; i++) {
      PodSpec pod =
          TestPods.pod("w" + i).blockSize(BLOCK).maxInFlight(100).events(List.of(new EventFeed.Push(""))).build();
      var _ = TestCell.admit(members, pod);
    }
    services.views().learntEngines().replace(
        Map.of("w0", prepares("most"), "w2", prepares("SGLang"), "w3", prepares("older")));
  }

  private static LearntEngine prepares(String preparation) {
    return new LearntEngine(preparation, false, false, false, 0, Set.of(), Map.of());
  }

  private static Chain chain(int seed, int blocks) {
    return TestPrompts.chain(seed, blocks, BLOCK);
  }

  private Member member(int number) {
    return members.all().stream().filter(each -> each.worker().id().equals("w" + number)).findAny().orElseThrow();
  }

  private void holds(int number, Chain chain, int blocks) {
    boolean stored =
        member(number).cache().blocks()
            .store(0, true, chain.hashes(), chain.hashes(), blocks, Tier.DEVICE, true) == blocks;
    assertThat(stored).isTrue();
  }

  private static DecisionRequest request(Set<String> excluded) {
    return new DecisionRequest(
        "r", "m", null, RequestShape.INDIVISIBLE, PROMPT, PreparedSlots.EMPTY, true,
        DecisionRequest.Constraints.excluding(excluded));
  }

  private Decision.Chosen decide(int only) {
    Set<String> others = new HashSet<>(List.of("w0", "w1", "w2", "w3"));
    others.remove("w" + only);
    return ((Decision.Planned) members.view().decide(request(others))).last();
  }

  @Test
  void eachWorker_isLookedUpByItsOwn() {
    holds(0, MOST, 5);
    holds(1, SGLANG, 24);
    holds(2, SGLANG, 7);
    holds(3, OLDER, 9);

    List<CandidateRecord> candidates =
        members.view().explain(request(Set.of("w3"))).passes().getFirst().candidates();

    assertThat(candidates).extracting(CandidateRecord::depth).as("w3 is removed").containsExactly(5, 0, 7, 9);
    assertThat(candidates.get(2).tiers()).containsEntry("device", 7);
    assertThat(candidates.get(3).tiers()).containsEntry("device", 9);
  }

  @Test
  void whatIsPromised_isOfTheWorkersOwn() {
    holds(1, MOST, 20);
    holds(2, SGLANG, 24);
    holds(3, OLDER, 16);

    assertThat(decide(1).cached().predicted()).isEqualTo(20 * BLOCK);
    assertThat(decide(2).cached().predicted()).as("all but the last block").isEqualTo(23 * BLOCK);
    assertThat(decide(3).cached().predicted()).isEqualTo(16 * BLOCK);
    assertThat(decide(0).cached().predicted()).isZero();
    assertThat(((Decision.Planned) members.view().decide(request(Set.of()))).last().cached().best())
        .as("most of any").isEqualTo(23 * BLOCK);
    assertThat(member(2).load().contextTokens()).isGreaterThanOrEqualTo(24 * BLOCK);
  }

  @Test
  void whatWillBeThere_isPredictedByTheWorkersOwn() {
    List<Chain> own = List.of(MOST, MOST, SGLANG, OLDER);
    for (int i = 0; i < own.size(); i++) {
      int number = i;
      assertThat(decide(i).cached().predicted()).isZero();
      assertThat(member(i).cache().blocks().predicted()).isEqualTo(own.get(i).length());
      assertThat(decide(i).depth()).as("w%d once more", i).isEqualTo(own.get(number).length());
    }
  }

  @Test
  void siblings_meetAtOne_howeverItPreparesThem() {
    Set<String> workers = new HashSet<>();
    IntStream.range(0, 8).forEach(_ -> {
      Decision.Chosen chosen = ((Decision.Planned) members.view().decide(request(Set.of("w0", "w1")))).last();
      workers.add(chosen.worker().id());
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(400, 0, 1, 1000));
    });
    assertThat(workers).hasSize(1);
  }

  /** An engine may be replaced by another while a request is on its way: what it is now counts. */
  @Test
  void whatIsNotKnown_isAsMostAre() {
    holds(2, MOST, 3);
    DecisionRequest.Prompt unknown =
        new DecisionRequest.Prompt(MOST, 20 * BLOCK + 1, List.of(new Rendition("another", OLDER, 16 * BLOCK)));
    DecisionRequest request =
        new DecisionRequest(
            "r", "m", null, RequestShape.INDIVISIBLE, unknown, PreparedSlots.EMPTY, true,
            DecisionRequest.Constraints.NONE);
    Decision.Chosen chosen = ((Decision.Planned) members.view().decide(request)).last();
    assertThat(chosen.worker().id()).isEqualTo("w2");
    assertThat(chosen.cached().predicted()).isEqualTo(3 * BLOCK);
  }
}
