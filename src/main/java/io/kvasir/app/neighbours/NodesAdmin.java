package io.kvasir.app.neighbours;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.neighbours.NodeMessage.Certificate;
import io.kvasir.app.neighbours.NodeMessage.Description;
import io.kvasir.app.neighbours.NodeMessage.Endpoint;
import io.kvasir.app.neighbours.NodeSurvey.Link;
import io.kvasir.app.neighbours.NodeSurvey.SurveyedNode;
import io.kvasir.app.neighbours.SettingsComparison.Difference;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import java.util.List;
import java.util.Locale;

/**
 * The resource {@code /admin/nodes}: what every node is, whether its settings are those of the node that is asked, and
 * which ports of the others each one reaches. Any node answers for all. Thread-safe.
 */
public final class NodesAdmin implements AdminResource {
  private final Neighbours neighbours;

  /** Over this node and the others. */
  public NodesAdmin(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/nodes", _ -> AdminResponse.ok(json(neighbours.survey()))));
  }

  private static ObjectNode json(NodeSurvey survey) {
    ObjectNode body = object();
    ArrayNode nodes = body.putArray("nodes");
    survey.nodes().forEach(node -> put(nodes.addObject(), node));
    ArrayNode links = body.putArray("links");
    survey.links().forEach(link -> put(links.addObject(), link));
    return body;
  }

  private static void put(ObjectNode entry, SurveyedNode node) {
    Description told = node.description();
    entry
        .put("address", node.address())
        .put("answered", told != null)
        .put("version", told == null ? null : told.version());
    ArrayNode ports = entry.putArray("ports");
    ArrayNode certificates = entry.putArray("certificates");
    if (told != null) {
      told.endpoints().forEach(endpoint -> put(ports.addObject(), endpoint));
      told.certificates().forEach(certificate -> put(certificates.addObject(), certificate));
    }
    SettingsComparison settings = node.settings();
    if (settings == null) {
      entry.putNull("settings");
      return;
    }
    ArrayNode differences =
        entry.putObject("settings").put("differing", settings.differing()).putArray("differences");
    for (Difference difference : settings.differences()) {
      differences.addObject()
          .put("path", difference.path()).put("here", difference.own()).put("there", difference.other());
    }
  }

  private static void put(ObjectNode entry, Endpoint endpoint) {
    entry
        .put("port", endpoint.port().label())
        .put("address", endpoint.host() + ":" + endpoint.number())
        .put("tls", endpoint.tls());
  }

  private static void put(ObjectNode entry, Certificate certificate) {
    entry
        .put("setting", certificate.setting())
        .put("file", certificate.file())
        .put("host", certificate.host())
        .put("failure", certificate.failure())
        .put("from", certificate.from() == null ? null : certificate.from().toString())
        .put("until", certificate.until() == null ? null : certificate.until().toString());
    ArrayNode names = entry.putArray("names");
    certificate.names().forEach(names::add);
    entry.put("authority", certificate.authority());
  }

  private static void put(ObjectNode entry, Link link) {
    Endpoint to = link.probe().endpoint();
    entry.put("from", link.from()).put("to", to.node());
    put(entry, to);
    entry
        .put("outcome", link.probe().outcome().name().toLowerCase(Locale.ROOT))
        .put("detail", link.probe().detail());
  }
}
