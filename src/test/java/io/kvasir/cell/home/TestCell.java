package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.worker.Member;
import io.kvasir.time.NanoClock;
import java.util.List;

/** A cell of the model "m" at its home, whose workers are well, for tests of its view. */
public final class TestCell {
  private final CellServices services;
  private final Members members;

  /** A cell of some pods that decides by a profile. */
  public TestCell(CellSettings settings, String profile, NanoClock clock, List<PodSpec> pods) {
    this.services = TestServices.deciding(profile).settings(settings).clock(clock).build();
    this.members = new Members("m", services);
    pods.forEach(pod -> admit(members, pod));
  }

  /** Admits a pod whose workers are well. */
  static List<Member> admit(Members members, PodSpec pod) {
    List<Member> admitted = members.admit(new PodEntry(pod, PodSource.CONFIG));
    admitted.forEach(member -> member.health().reachability().onSuccess());
    return admitted;
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
    return services.profiles();
  }
}
