package io.kvasir.gateway.error;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.RefusalReason;
import io.kvasir.cell.CellLoad;
import io.kvasir.cell.Decision.NoWorker;
import io.kvasir.cell.Decision.NoWorkerReason;
import io.kvasir.http.server.ReachedLimit;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class GateRefusalTest {
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "ALL_FULL     | 4 | gate=workers; knob=pod-defaults.max-in-flight; measured=64; limit=64; unit=requests;"
          + " retryable=true",
      "NONE_HEALTHY | 0 | gate=workers; knob=cell.health; measured=0; limit=1; unit=workers; retryable=true",
      "NONE_HEALTHY | 4 | gate=workers; knob=routing.profiles; retryable=true",
      "NO_HOME      | 0 | gate=cell; knob=cell.move-timeout; retryable=true",
      "CUT_OFF      | 0 | gate=cluster; knob=cluster.minority; retryable=true",
      "STOPPING     | 0 | gate=stopping; knob=gateway.drain-delay; retryable=true"})
  void noWorker_namesWhatWasMissing(NoWorkerReason reason, int routable, String header) {
    GateRefusal refusal = GateRefusal.of(new NoWorker(reason, "", new CellLoad(4, routable, 64, 64)));

    assertThat(Objects.requireNonNull(refusal).header(true)).isEqualTo(header);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "CONNECTIONS             | gate=connections; knob=gateway.max-connections; measured=3; limit=2;"
          + " unit=connections;",
      "CONNECTIONS_PER_ADDRESS | gate=connections; knob=gateway.max-connections-per-address; measured=3; limit=2;"
          + " unit=connections;",
      "MEMORY                  | gate=memory; knob=gateway.memory-share; measured=3; limit=2; unit=bytes;",
      "BODY_LENGTH             | gate=body; knob=gateway.max-body; measured=3; limit=2; unit=bytes;",
      "HEAD_TIME               | gate=arrival; knob=gateway.head-timeout; measured=3; limit=2; unit=ms;",
      "BODY_TIME               | gate=arrival; knob=gateway.body-timeout; measured=3; limit=2; unit=ms;",
      "STALL_TIME              | gate=arrival; knob=gateway.stall-timeout; measured=3; limit=2; unit=ms;",
      "STOPPING                | gate=stopping; knob=gateway.drain-delay;"})
  void limitOfTheListener_isNamedByItsSetting(ReachedLimit.Kind kind, String header) {
    assertThat(GateRefusal.of(new ReachedLimit(kind, 3, 2)).header(false)).isEqualTo(header + " retryable=false");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "MEMORY      | gate=memory; knob=picker.memory-share; measured=3; limit=2; unit=bytes;",
      "BODY_LENGTH | gate=body; knob=picker.max-body; measured=3; limit=2; unit=bytes;",
      "STOPPING    | gate=stopping; knob=gateway.drain-delay;"})
  void limitOfThePicker_isNamedByItsOwnSetting(ReachedLimit.Kind kind, String header) {
    assertThat(GateRefusal.of(new ReachedLimit(kind, 3, 2)).atPicker().header(false))
        .isEqualTo(header + " retryable=false");
  }

  /** By the words of llm-d's picker; what a router lacks itself it has no word for. */
  @ParameterizedTest
  @CsvSource(nullValues = "none", value = {
      "ALL_FULL, rejected-saturated", "NONE_HEALTHY, rejected-no-endpoints", "STOPPING, rejected-shutting-down",
      "NO_HOME, none", "CUT_OFF, none"})
  void noWorker_isDroppedForAReason(NoWorkerReason reason, @Nullable String dropped) {
    assertThat(dropped(new NoWorker(reason, ""))).isEqualTo(dropped);
  }

  @ParameterizedTest
  @CsvSource(nullValues = "none", value = {
      "TENANT_QUEUE_FULL, none", "QUEUE_FULL, rejected-saturated", "QUEUE_BYTES, rejected-saturated",
      "EXPECTED_WAIT, rejected-saturated", "TIMEOUT, rejected-ttl-expired", "FIRST_WORKER, rejected-no-endpoints",
      "OTHER, rejected-saturated"})
  void notAdmitted_isDroppedForAReason_unlessItIsTheCallersOwn(RefusalReason refused, @Nullable String dropped) {
    NoWorker none = NoWorker.refused(new AdmissionRefusal(refused, "knob", 3, 2, "requests", 1));

    assertThat(dropped(none)).isEqualTo(dropped);
  }

  private static @Nullable String dropped(NoWorker none) {
    GateRefusal refusal = Objects.requireNonNull(GateRefusal.of(none));
    return ErrorFormat.OPENAI.answer(ApiError.of(503, "any", "any").refusedBy(refusal), null).headers()
        .first("x-llm-d-request-dropped-reason");
  }

  /** A home of an earlier version says nothing of its load. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "ALL_FULL     | gate=workers; knob=pod-defaults.max-in-flight; retryable=true",
      "NONE_HEALTHY | gate=workers; knob=cell.health; retryable=true"})
  void noWorker_withoutFigures_namesTheKnobAlone(NoWorkerReason reason, String header) {
    GateRefusal refusal = GateRefusal.of(new NoWorker(reason, ""));

    assertThat(Objects.requireNonNull(refusal).header(true)).isEqualTo(header);
  }
}
