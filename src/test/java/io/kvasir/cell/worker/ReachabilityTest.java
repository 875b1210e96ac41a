package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.WorkerStatus.Health;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What takes a pod out, and what brings it back. */
final class ReachabilityTest {
  private static final long SECOND = 1_000_000_000L;

  private final Reachability contact = new Reachability(Duration.ofSeconds(60), new ChangeCounter());

  private Reachability well() {
    contact.onProbe(true, 0);
    return contact;
  }

  @Test
  void unknown_untilTheFirstContact() {
    assertThat(contact.state()).isEqualTo(Health.UNKNOWN);
    contact.onSuccess();
    assertThat(contact.isReachable()).isTrue();
  }

  @Test
  void lost_isOutAtOnce_andWantsAProbe() {
    well().onConnectionLost(SECOND, "refused");
    assertThat(contact.state()).isEqualTo(Health.UNHEALTHY);
    assertThat(contact.reason()).isEqualTo("refused");
    assertThat(contact.pollProbeRequest()).isTrue();
    assertThat(contact.pollProbeRequest()).isFalse();
  }

  @Test
  void losses_countEachOnce() {
    contact.onConnectionLost(SECOND, "refused");
    assertThat(contact.losses()).as("it was never there").isZero();
    contact.onSuccess();
    contact.onConnectionLost(2 * SECOND, "refused");
    contact.onConnectionLost(3 * SECOND, "refused");
    contact.onSuccess();
    assertThat(contact.losses()).isEqualTo(1);
    contact.onStreamLost(4 * SECOND);
    assertThat(contact.losses()).isEqualTo(2);
  }

  @Test
  void probed_askedBeforeTheLoss_saysNothing() {
    well().onConnectionLost(2 * SECOND, "refused");
    contact.pollProbeRequest();
    contact.onProbe(true, SECOND);
    assertThat(contact.isReachable()).isFalse();
    assertThat(contact.pollProbeRequest()).isTrue();
    contact.onProbe(true, 3 * SECOND);
    assertThat(contact.isReachable()).isTrue();
  }

  @Test
  void answered_bringsItBack() {
    well().onConnectionLost(SECOND, "refused");
    contact.onSuccess();
    assertThat(contact.isReachable()).isTrue();
  }

  @Test
  void probed_unwell_takesTwoToPutItOut() {
    well().onProbe(false, SECOND);
    assertThat(contact.isReachable()).isTrue();
    contact.onProbe(false, 2 * SECOND);
    assertThat(contact.isReachable()).isFalse();
  }

  @Test
  void probed_wellBetween_countsAnew() {
    well().onProbe(false, SECOND);
    contact.onProbe(true, 2 * SECOND);
    contact.onProbe(false, 3 * SECOND);
    assertThat(contact.isReachable()).isTrue();
  }

  @Test
  void probed_unwell_whoWasNeverWell_isOut() {
    contact.onProbe(false, SECOND);
    assertThat(contact.state()).isEqualTo(Health.UNHEALTHY);
  }

  @Test
  void streamLost_isOutUntilTheProbe_andThenNoMore() {
    well().onStreamLost(SECOND);
    assertThat(contact.isReachable()).isFalse();
    assertThat(contact.pollProbeRequest()).isTrue();
    contact.onProbe(true, SECOND);
    assertThat(contact.isReachable()).isTrue();
    contact.onStreamLost(30 * SECOND);
    assertThat(contact.isReachable()).as("its publisher has been found to break alone").isTrue();
    assertThat(contact.pollProbeRequest()).isTrue();
    contact.onStreamLost(62 * SECOND);
    assertThat(contact.isReachable()).isFalse();
  }

  @Test
  void streamLost_andNoAnswer_staysOut() {
    well().onStreamLost(SECOND);
    contact.onProbe(false, SECOND);
    assertThat(contact.isReachable()).isFalse();
    contact.onProbe(true, 2 * SECOND);
    assertThat(contact.isReachable()).isTrue();
    contact.onStreamLost(3 * SECOND);
    assertThat(contact.isReachable()).as("the stream was right the last time").isFalse();
  }

  @Test
  void eventsCame_bringBackWhatTheirLossTookOut() {
    well().onStreamLost(SECOND);
    contact.onEvents();
    assertThat(contact.isReachable()).isTrue();
  }

  @Test
  void eventsCame_whoseServerRefuses_onlyHaveItProbed() {
    well().onConnectionLost(SECOND, "refused");
    contact.pollProbeRequest();
    contact.onEvents();
    assertThat(contact.isReachable()).isFalse();
    assertThat(contact.pollProbeRequest()).isTrue();
  }
}
