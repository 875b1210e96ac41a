package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.admission.Standing;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.home.TestCell;
import io.kvasir.programs.GuardSettings;
import io.kvasir.programs.GuardStatus;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Slots;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Programs that wait for room in a cell of two workers that can hold 5,000 tokens each. */
final class CellProgramsTest {
  private static final int BLOCK = 16;
  private static final Claim CLAIM = new Claim(ServiceClass.DEFAULT, "t", 1, null, 100, 0);

  private final TestCell cell =
      new TestCell(
          settings(), "expected-cost", NanoClock.SYSTEM,
          List.of(
              TestPods.pod("w0").blockSize(BLOCK).build(),
              TestPods.pod("w1").blockSize(BLOCK).build()));
  private final CellAdmission admission = Objects.requireNonNull(cell.view().admission());

  private static CellSettings settings() {
    ClassSettings some =
        new ClassSettings(
            Duration.ofMinutes(1), Duration.ofMinutes(10), Duration.ofMinutes(10), 100, 100, 1 << 20, 0);
    return TestSettings.with(
        new ProgramSettings(true, ProgramSettings.OFF.sources(), true, GuardSettings.DEFAULT, 5_000),
        new AdmissionSettings(true, TestSettings.ofEveryClass(some), 1000, 2, 0, 0.5, Map.of(), Duration.ZERO));
  }

  /** A request of the only conversation, as far as this many blocks. */
  private static DecisionRequest request(int blocks, PreparedSlots named) {
    DecisionRequest.Prompt prompt =
        new DecisionRequest.Prompt(TestPrompts.chain(0, blocks, BLOCK), blocks * BLOCK + 1);
    return new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, prompt, named, true, DecisionRequest.Constraints.NONE, null, CLAIM);
  }

  private @Nullable Decision attempt(DecisionRequest request) {
    return admission.tryAtOnce(request, CLAIM, true, admission.check(request, CLAIM, Standing.ALONE));
  }

  private PendingDecision enter(DecisionRequest request) {
    return admission.enter(request, CLAIM, true, admission.check(request, CLAIM, Standing.ALONE));
  }

  private static Decision.Planned planned(PendingDecision pending) throws Exception {
    TurnResult result = pending.result().get(90, TimeUnit.SECONDS);
    return (Decision.Planned) ((TurnResult.Decided) result).decision();
  }

  private GuardStatus programs() {
    return Objects.requireNonNull(cell.view().waiting().programs());
  }

  /** Though another request takes it for the beginning of its own prompt. */
  @Test
  void turnThatWaits_staysOfItsProgram() throws Exception {
    PreparedSlots large = PreparedSlots.EMPTY.with(Slots.PROGRAM, "t/large").with(Slots.PROGRAM_LAST, 1);
    Decision.Planned running = (Decision.Planned) Objects.requireNonNull(attempt(request(600, large)));
    DecisionRequest turn = request(128, PreparedSlots.EMPTY);
    assertThat(attempt(turn)).isNull();
    PendingDecision waits = enter(turn);
    PendingDecision longer = enter(request(192, PreparedSlots.EMPTY));
    assertThat(programs().programs()).isEqualTo(2);

    running.last().reservation().close(new Outcome.Cancelled());

    Decision.Planned went = planned(waits);
    assertThat(planned(longer).steps()).hasSize(1);
    assertThat(programs().programs()).as("the large one, and the conversation").isEqualTo(2);
    went.last().reservation().close(new Outcome.Cancelled());
  }

  @Test
  void equalPrompts_areOneProgramOfATenant_andAnotherOneOfAnother() {
    for (String tenant : List.of("t", "u", "t")) {
      PreparedSlots its = PreparedSlots.EMPTY.with(Slots.PROGRAM_TENANT, tenant);
      assertThat(attempt(request(128, its))).isInstanceOf(Decision.Planned.class);
    }
    assertThat(programs().programs()).isEqualTo(2);
  }
}
