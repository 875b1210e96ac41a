package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import io.kvasir.doctor.exam.RouterExam.SettingsSeen;
import java.util.List;

/** Whether the nodes have the same configuration, but for what is each node's own. */
final class NodeSettingsCheck extends Check {
  private static final int SHOWN = 5;

  NodeSettingsCheck() {
    super("node-settings", "Have all of the router's nodes the same configuration?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    for (NodeSeen node : router.nodes()) {
      SettingsSeen settings = node.settings();
      if (settings != null && settings.differing() > 0) {
        List<String> shown = settings.differences().subList(0, Math.min(SHOWN, settings.differences().size()));
        found.warning(
            "node " + node.address(),
            (settings.differing() == 1 ? "1 setting is another" : settings.differing() + " settings are others")
                + " than at " + router.management() + ": " + String.join("; ", shown),
            "Requests are treated differently by the node that they happen to reach, and cells by their home.",
            "Give all nodes the same file, and restart those that have another.");
      } else if (settings == null && node.answered()) {
        found.note("node " + node.address(), "its settings could not be compared with those at " + router.management(),
            "They are too many for one message between nodes, such as those of thousands of pods.",
            "Compare the files, or ./kvasir admin config at both; let pods be discovered (kvasir.pods-from).");
      }
    }
  }
}
