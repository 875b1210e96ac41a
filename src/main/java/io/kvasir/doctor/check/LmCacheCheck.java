package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;

/** Whether every instance of LMCache is known as a worker's. */
final class LmCacheCheck extends Check {
  LmCacheCheck() {
    super("lmcache", "Does every instance of LMCache belong to a worker?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router != null && !router.strayInstances().isEmpty()) {
      String first = router.strayInstances().getFirst();
      found.warning(
          router.management(),
          "LMCache's " + String.join(", ", router.strayInstances()) + " belong to no worker",
          "What their engines have in host memory or on disk does not count when a worker is chosen.",
          "Set lmcache_instance_id in each engine's LMCache configuration to its worker's name, or"
              + " kvasir.lmcache.workers { \"" + first + "\" = \"…\" }.");
    }
  }
}
