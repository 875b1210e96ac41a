package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import io.kvasir.doctor.exam.RouterExam.SettingsSeen;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The nodes of a running router, as any of them tells. */
final class ExaminedNodes {
  private final JsonNode cluster;
  private final JsonNode nodes;

  /**
   * Over two answers of a node.
   *
   * @param cluster that of {@code /admin/cluster}
   * @param nodes that of {@code /admin/nodes}
   */
  ExaminedNodes(JsonNode cluster, JsonNode nodes) {
    this.cluster = cluster;
    this.nodes = nodes;
  }

  /** Each node. */
  List<NodeSeen> nodes() {
    List<NodeSeen> seen = new ArrayList<>();
    for (JsonNode member : cluster.path("nodes")) {
      String address = member.path("address").asText();
      JsonNode node = node(address);
      List<CertificateExam> certificates = new ArrayList<>();
      node.path("certificates").forEach(certificate -> certificates.add(certificate(certificate)));
      seen.add(
          new NodeSeen(
              address, member.path("reachable").asBoolean(true),
              node.path("version").asText(member.path("version").asText()), node.path("answered").asBoolean(),
              settings(node.path("settings")), certificates));
    }
    return seen;
  }

  /** What they found at each other's ports. */
  List<NodeLink> links() {
    List<NodeLink> links = new ArrayList<>();
    for (JsonNode link : nodes.path("links")) {
      links.add(
          new NodeLink(
              link.path("from").asText(), link.path("to").asText(), link.path("port").asText(),
              link.path("address").asText(), link.path("outcome").asText().equals("open"),
              link.path("detail").asText()));
    }
    return links;
  }

  private JsonNode node(String address) {
    for (JsonNode node : nodes.path("nodes")) {
      if (node.path("address").asText().equals(address)) {
        return node;
      }
    }
    return nodes.path("none");
  }

  private static @Nullable SettingsSeen settings(JsonNode settings) {
    if (!settings.isObject()) {
      return null;
    }
    List<String> differences = new ArrayList<>();
    for (JsonNode difference : settings.path("differences")) {
      differences.add(
          "%s is %s there and %s here".formatted(
              difference.path("path").asText(), value(difference.path("there")), value(difference.path("here"))));
    }
    return new SettingsSeen(settings.path("differing").asInt(), differences);
  }

  private static String value(JsonNode value) {
    return value.isNull() ? "not set" : value.asText();
  }

  private static CertificateExam certificate(JsonNode certificate) {
    List<String> names = new ArrayList<>();
    certificate.path("names").forEach(name -> names.add(name.asText()));
    return new CertificateExam(
        certificate.path("setting").asText(), Path.of(certificate.path("file").asText()),
        certificate.path("host").textValue(), certificate.path("failure").textValue(),
        Instant.parse(certificate.path("from").asText(Instant.EPOCH.toString())),
        Instant.parse(certificate.path("until").asText(Instant.EPOCH.toString())), names,
        certificate.path("authority").asText());
  }
}
