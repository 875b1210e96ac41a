package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir admin workers}. */
@Command(
    name = "workers",
    description = "Lists workers, adds pods, drains and removes them.",
    subcommands = {
      WorkersCommand.All.class,
      WorkersCommand.Add.class,
      DrainCommand.class,
      WorkersCommand.Undrain.class,
      WorkersCommand.Remove.class
    })
final class WorkersCommand extends GroupCommand {
  private static final String PATH = "/admin/workers";

  static String path(String pod) {
    return PATH + "/" + AdminClient.encoded(pod);
  }

  /** {@code {"pod", "state", "in_flight"}} in a line. */
  static String state(JsonNode pod) {
    int left = pod.path("in_flight").asInt();
    return "%s: %s, %d %s in flight%n".formatted(
        pod.path("pod").asText(), pod.path("state").asText(), left, left == 1 ? "request" : "requests");
  }

  /** {@code kvasir admin workers list}. */
  @Command(
      name = "list",
      description = "Prints every worker with its state. Any node answers for all.",
      mixinStandardHelpOptions = true)
  static final class All extends AdminRequestCommand {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.get(PATH);
    }

    @Override
    String format(JsonNode answer) {
      return FleetTables.workers(answer.path("workers")).toString();
    }
  }

  /** {@code kvasir admin workers add}. */
  @Command(
      name = "add",
      description = {
        "Adds a pod's workers. Without --model the engine is asked what it is.",
        "It tells its models, KV blocks, ranks, cache events and role; options win over that. With --model what is left"
            + " out is as in kvasir.pod-defaults."
      },
      mixinStandardHelpOptions = true)
  static final class Add extends AdminRequestCommand {
    @Parameters(
        arity = "1..2",
        paramLabel = "[POD] URL",
        hideParamSyntax = true,
        description = "Its URL, such as http://10.0.0.7:8000; before it its name, or it is called by host and port.")
    private List<String> place = List.of();

    @Option(
        names = "--model",
        split = ",",
        paramLabel = "NAME",
        description = "As requests call it; further ones are its LoRA adapters.")
    private List<String> models = List.of();

    @Option(names = "--role", paramLabel = "ROLE", description = "both, prefill, decode or encode.")
    private @Nullable String role;

    @Option(names = "--ranks", paramLabel = "N", description = "Data-parallel ranks behind the URL.")
    private @Nullable Integer ranks;

    @Option(names = "--engine", paramLabel = "NAME", description = "Latency coefficients to begin with.")
    private @Nullable String engine;

    @Option(names = "--max-in-flight", paramLabel = "N", description = "Requests each rank may have.")
    private @Nullable Integer maxInFlight;

    @Option(names = "--label", paramLabel = "NAME=VALUE", description = "For filters and locality.")
    private Map<String, String> labels = new LinkedHashMap<>();

    @Option(
        names = "--grpc-port",
        paramLabel = "PORT",
        description = "vLLM's --grpc-port, where it is asked for what HTTP does not tell.")
    private @Nullable Integer grpcPort;

    @Option(names = "--events", paramLabel = "ENDPOINT", description = "Its ZMQ events, tcp://10.0.0.7:5557.")
    private @Nullable String events;

    @Option(names = "--replay", paramLabel = "ENDPOINT", description = "Their replay, tcp://10.0.0.7:5657.")
    private @Nullable String replay;

    @Option(
        names = "--snapshot",
        paramLabel = "FORMAT",
        description = "How it is asked there for all it holds: none or vllm-50134.")
    private @Nullable String snapshot;

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(PATH, described());
    }

    @Override
    String format(JsonNode answer) {
      int workers = answer.path("workers").asInt();
      StringBuilder text =
          new StringBuilder("%s: added, %d %s%n".formatted(
              answer.path("pod").asText(), workers, workers == 1 ? "worker" : "workers"));
      JsonNode learnt = answer.path("learnt");
      if (learnt.isObject()) {
        List<String> served = new ArrayList<>();
        learnt.path("models").forEach(model -> served.add(model.asText()));
        String events = learnt.path("events").asText();
        List<String> endpoints = new ArrayList<>();
        learnt.path("event_endpoints").forEach(endpoint -> endpoints.add(endpoint.asText()));
        text.append("  %s, %s, KV blocks of %d tokens, %s%n".formatted(
            learnt.path("engine").asText(), String.join(", ", served), learnt.path("block_size").asInt(),
            events.isEmpty() ? "no cache events"
                : "cache events by " + events + (endpoints.isEmpty() ? "" : " at " + String.join(", ", endpoints))));
        if (learnt.has("load")) {
          text.append("  Load: ").append(learnt.path("load").asText()).append('\n');
        }
        learnt.path("remarks").forEach(remark -> text.append("  ").append(remark.asText()).append('\n'));
      }
      return text.toString();
    }

    private ObjectNode described() {
      ObjectNode described = JsonNodeFactory.instance.objectNode().put("url", place.getLast());
      if (place.size() > 1) {
        described.put("name", place.getFirst());
      }
      if (!models.isEmpty()) {
        models.forEach(described.putArray("models")::add);
      }
      if (grpcPort != null) {
        described.put("grpc_port", grpcPort);
      }
      if (role != null) {
        described.put("role", role);
      }
      if (ranks != null) {
        described.put("ranks", ranks);
      }
      if (engine != null) {
        described.put("engine", engine);
      }
      if (maxInFlight != null) {
        described.put("max_in_flight", maxInFlight);
      }
      if (!labels.isEmpty()) {
        labels.forEach(described.putObject("labels")::put);
      }
      if (events != null) {
        described.putObject("events").put("endpoint", events);
      }
      if (replay != null) {
        described.withObject("/events").put("replay", replay);
      }
      if (snapshot != null) {
        described.withObject("/events").put("snapshot", snapshot);
      }
      return described;
    }
  }

  /** {@code kvasir admin workers undrain}. */
  @Command(
      name = "undrain",
      description = "Gives a drained pod requests again.",
      mixinStandardHelpOptions = true)
  static final class Undrain extends AdminRequestCommand {
    @Parameters(paramLabel = "POD", description = "Its name.")
    private String pod = "";

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(path(pod) + "/undrain", null);
    }

    @Override
    String format(JsonNode answer) {
      return state(answer);
    }
  }

  /** {@code kvasir admin workers remove}. */
  @Command(
      name = "remove",
      description = "Removes a pod's workers at once; drain it first to let its requests end.",
      mixinStandardHelpOptions = true)
  static final class Remove extends AdminRequestCommand {
    @Parameters(paramLabel = "POD", description = "Its name.")
    private String pod = "";

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.delete(path(pod));
    }

    @Override
    String format(JsonNode answer) {
      return state(answer);
    }
  }
}
