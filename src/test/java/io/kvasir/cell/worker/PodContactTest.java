package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.WorkerStatus.Health;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What takes a pod out, and what brings it back. */
final class PodContactTest {
  private static final long SECOND = 1_000_000_000L;

  private final PodContact contact = new PodContact(Duration.ofSeconds(60), new Revision());

  private PodContact well() {
    contact.probed(true, 0);
    return contact;
  }

  @Test
  void unknown_untilTheFirstContact() {
    assertThat(contact.state()).isEqualTo(Health.UNKNOWN);
    contact.answered();
    assertThat(contact.well()).isTrue();
  }

  @Test
  void lost_isOutAtOnce_andWantsAProbe() {
    well().lost(SECOND, "refused");
    assertThat(contact.state()).isEqualTo(Health.UNHEALTHY);
    assertThat(contact.why()).isEqualTo("refused");
    assertThat(contact.takeProbeWanted()).isTrue();
    assertThat(contact.takeProbeWanted()).isFalse();
  }

  @Test
  void probed_askedBeforeTheLoss_saysNothing() {
    well().lost(2 * SECOND, "refused");
    contact.takeProbeWanted();
    contact.probed(true, SECOND);
    assertThat(contact.well()).isFalse();
    assertThat(contact.takeProbeWanted()).isTrue();
    contact.probed(true, 3 * SECOND);
    assertThat(contact.well()).isTrue();
  }

  @Test
  void answered_bringsItBack() {
    well().lost(SECOND, "refused");
    contact.answered();
    assertThat(contact.well()).isTrue();
  }

  @Test
  void probed_unwell_takesTwoToPutItOut() {
    well().probed(false, SECOND);
    assertThat(contact.well()).isTrue();
    contact.probed(false, 2 * SECOND);
    assertThat(contact.well()).isFalse();
  }

  @Test
  void probed_wellBetween_countsAnew() {
    well().probed(false, SECOND);
    contact.probed(true, 2 * SECOND);
    contact.probed(false, 3 * SECOND);
    assertThat(contact.well()).isTrue();
  }

  @Test
  void probed_unwell_whoWasNeverWell_isOut() {
    contact.probed(false, SECOND);
    assertThat(contact.state()).isEqualTo(Health.UNHEALTHY);
  }

  @Test
  void streamLost_isOutUntilTheProbe_andThenNoMore() {
    well().streamLost(SECOND);
    assertThat(contact.well()).isFalse();
    assertThat(contact.takeProbeWanted()).isTrue();
    contact.probed(true, SECOND);
    assertThat(contact.well()).isTrue();
    contact.streamLost(30 * SECOND);
    assertThat(contact.well()).as("its publisher has been found to break alone").isTrue();
    assertThat(contact.takeProbeWanted()).isTrue();
    contact.streamLost(62 * SECOND);
    assertThat(contact.well()).isFalse();
  }

  @Test
  void streamLost_andNoAnswer_staysOut() {
    well().streamLost(SECOND);
    contact.probed(false, SECOND);
    assertThat(contact.well()).isFalse();
    contact.probed(true, 2 * SECOND);
    assertThat(contact.well()).isTrue();
    contact.streamLost(3 * SECOND);
    assertThat(contact.well()).as("the stream was right the last time").isFalse();
  }

  @Test
  void eventsCame_bringBackWhatTheirLossTookOut() {
    well().streamLost(SECOND);
    contact.eventsCame();
    assertThat(contact.well()).isTrue();
  }

  @Test
  void eventsCame_whoseServerRefuses_onlyHaveItProbed() {
    well().lost(SECOND, "refused");
    contact.takeProbeWanted();
    contact.eventsCame();
    assertThat(contact.well()).isFalse();
    assertThat(contact.takeProbeWanted()).isTrue();
  }
}
