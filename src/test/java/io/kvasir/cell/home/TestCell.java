package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.worker.Member;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.util.List;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;

/** A cell of the model "m" at its home, whose workers are well, for tests of its view. */
public final class TestCell {
  private final Members members;

  private final ProfileSet profiles;

  /** A cell of some pods that decides by a profile. */
  public TestCell(
      ActorTestKit kit, CellSettings settings, String profile, Metrics metrics, NanoClock clock, List<PodSpec> pods) {
    this.profiles = TestProfiles.builtIn(profile, metrics);
    this.members =
        new Members("m", TestServices.of(kit, settings, profiles, metrics, DecisionLog.off(metrics), clock));
    for (PodSpec pod : pods) {
      members.admit(new PodEntry(pod, PodSource.CONFIG))
          .forEach(member -> member.health().reachability().onSuccess());
    }
  }

  /** What decides. */
  public CellView view() {
    return members.view();
  }

  /** Its workers, by slot. */
  public List<Member> members() {
    return members.all();
  }

  /** What its engines cost. */
  public ProfileSet profiles() {
    return profiles;
  }
}
