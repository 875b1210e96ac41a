package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Whether the certificates of all nodes are of one authority. */
final class NodeCertificatesCheck extends Check {
  NodeCertificatesCheck() {
    super("node-certificates", "Were the certificates of all of the router's nodes issued by one authority?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    Map<String, Map<String, List<String>>> nodes = new TreeMap<>();
    for (NodeSeen node : router.nodes()) {
      for (CertificateExam certificate : node.certificates()) {
        if (certificate.failure() == null) {
          nodes.computeIfAbsent(certificate.setting(), _ -> new TreeMap<>())
              .computeIfAbsent(certificate.authority(), _ -> new ArrayList<>())
              .add(node.address());
        }
      }
    }
    nodes.forEach((setting, authorities) -> {
      if (authorities.size() > 1) {
        found.warning(
            setting, "its certificates are of several authorities: " + authorities,
            "A node that does not trust the other's authority refuses its connections.",
            "Issue all of them by one authority; while it is replaced, name the old and the new one in the file of"
                + " authorities.");
      }
    });
  }
}
