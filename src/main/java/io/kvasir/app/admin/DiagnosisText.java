package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.doctor.Diagnosis;
import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.check.Severity;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import java.util.Locale;

/** A diagnosis for people, and for scripts. */
final class DiagnosisText {
  private DiagnosisText() {}

  /** Each finding in four lines, which node reaches which, and the findings' count. */
  static String of(Diagnosis diagnosis) {
    StringBuilder text = new StringBuilder();
    for (Finding finding : diagnosis.findings()) {
      text.append("%s (%s): %s%n  %s%n  Why it matters: %s%n  What to do: %s%n%n".formatted(
          finding.severity().toString().toUpperCase(Locale.ROOT), finding.check(), finding.subject(),
          finding.problem(), finding.why(), finding.remedy()));
    }
    if (!diagnosis.links().isEmpty()) {
      text.append(PortMatrix.of(diagnosis.links()));
    }
    text.append(count(diagnosis.engines(), "engine")).append(" examined: ");
    if (diagnosis.exitStatus() == 0) {
      text.append("nothing is wrong");
    } else {
      text.append(count(diagnosis.count(Severity.ERROR), "error")).append(", ")
          .append(count(diagnosis.count(Severity.WARNING), "warning"));
    }
    long notes = diagnosis.count(Severity.NOTE);
    return text.append(notes == 0 ? "" : ", " + count(notes, "note")).append(".\n").toString();
  }

  private static String count(long number, String what) {
    return number + " " + what + (number == 1 ? "" : "s");
  }

  /**
   * {@code {"engines", "status", "findings": [{"check", "severity", "subject", "problem", "why", "remedy"}], "links":
   * [{"from", "to", "port", "address", "open", "detail"}]}}.
   */
  static ObjectNode json(Diagnosis diagnosis) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.put("engines", diagnosis.engines()).put("status", diagnosis.exitStatus());
    ArrayNode findings = json.putArray("findings");
    for (Finding finding : diagnosis.findings()) {
      findings.addObject()
          .put("check", finding.check())
          .put("severity", finding.severity().toString())
          .put("subject", finding.subject())
          .put("problem", finding.problem())
          .put("why", finding.why())
          .put("remedy", finding.remedy());
    }
    ArrayNode links = json.putArray("links");
    for (NodeLink link : diagnosis.links()) {
      links.addObject()
          .put("from", link.from())
          .put("to", link.to())
          .put("port", link.port())
          .put("address", link.address())
          .put("open", link.open())
          .put("detail", link.detail());
    }
    return json;
  }
}
