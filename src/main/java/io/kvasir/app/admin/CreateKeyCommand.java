package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir keys create}. */
@Command(
    name = "create",
    description = "Creates a key, and prints it once. Options left out are as in kvasir.access.key-defaults.",
    mixinStandardHelpOptions = true)
final class CreateKeyCommand extends KeyCommand {
  @Parameters(paramLabel = "KEY", description = "Its id, for people, metrics and logs.")
  private String id = "";

  @Option(names = "--tenant", required = true, paramLabel = "NAME", description = "Whom it belongs to.")
  private String tenant = "";

  @Option(
      names = "--models",
      split = ",",
      paramLabel = "NAME",
      description = "The models it may use; a * at the end stands for all that begin so.")
  private List<String> models = List.of();

  @Option(names = "--apis", split = ",", paramLabel = "NAME", description = "The APIs it may use: chat, embeddings ...")
  private List<String> apis = List.of();

  @Option(
      names = "--not-after",
      paramLabel = "TIME",
      description = "When it expires: 2027-01-31, 2027-01-31T12:00:00Z.")
  private @Nullable String notAfter;

  @Option(names = "--rpm", paramLabel = "N", description = "Requests in a minute.")
  private @Nullable Long requestsPerMinute;

  @Option(names = "--tpm", paramLabel = "N", description = "Tokens of work in a minute.")
  private @Nullable Long tokensPerMinute;

  @Option(names = "--concurrent", paramLabel = "N", description = "Requests at a time.")
  private @Nullable Integer concurrent;

  @Option(
      names = "--budget",
      paramLabel = "N/WINDOW",
      description = "Tokens of work in a longer window, such as 1000000/1d; several are allowed.")
  private List<String> budgets = List.of();

  @Option(names = "--profile", paramLabel = "NAME", description = "The routing profile of its requests.")
  private @Nullable String profile;

  @Option(
      names = "--highest-class",
      paramLabel = "CLASS",
      description = "The most urgent class it may ask for: system, interactive, default or bulk.")
  private @Nullable String highestClass;

  @Option(names = "--weight", paramLabel = "N", description = "Its share against others when the fleet is full.")
  private @Nullable Integer weight;

  @Option(
      names = "--isolation",
      paramLabel = "WITH",
      description = "Who shares cached blocks with it: none, tenant, key or group=NAME.")
  private @Nullable String isolation;

  @Option(names = "--routing-details", description = "Its answers say how requests were routed.")
  private boolean routingDetails;

  @Option(names = "--request-templates", description = "Its requests may bring chat templates.")
  private boolean requestTemplates;

  @Option(names = "--sha256", paramLabel = "HEX", description = "Of a key that exists already; none is generated then.")
  private @Nullable String sha256;

  @Override
  JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
    return client.post(PATH, entry());
  }

  @Override
  JsonNode edit(KeysFile keys) throws AdminFailedException {
    return answered(keys.create(entry()));
  }

  @Override
  String format(JsonNode answer) {
    return "%s: created, tenant %s%n%s".formatted(
        answer.at("/key/id").asText(),
        answer.at("/key/tenant").asText(),
        answer.has("secret") ? secret(answer) : "");
  }

  private ObjectNode entry() throws AdminFailedException {
    ObjectNode entry = JsonNodeFactory.instance.objectNode().put("id", id).put("tenant", tenant);
    put(entry, "sha256", sha256);
    put(entry, "not_after", notAfter);
    put(entry, "profile", profile);
    put(entry, "highest_class", highestClass);
    if (!models.isEmpty()) {
      models.forEach(entry.putArray("models")::add);
    }
    if (!apis.isEmpty()) {
      apis.forEach(entry.putArray("apis")::add);
    }
    if (weight != null) {
      entry.put("weight", weight);
    }
    if (isolation != null && isolation.startsWith("group=")) {
      entry.putObject("isolation").put("group", isolation.substring("group=".length()));
    } else {
      put(entry, "isolation", isolation);
    }
    if (routingDetails) {
      entry.put("routing_details", true);
    }
    if (requestTemplates) {
      entry.put("request_templates", true);
    }
    ObjectNode limits = limits();
    if (!limits.isEmpty()) {
      entry.set("limits", limits);
    }
    return entry;
  }

  private ObjectNode limits() throws AdminFailedException {
    ObjectNode limits = JsonNodeFactory.instance.objectNode();
    if (requestsPerMinute != null) {
      limits.put("requests_per_minute", requestsPerMinute);
    }
    if (tokensPerMinute != null) {
      limits.put("tokens_per_minute", tokensPerMinute);
    }
    if (concurrent != null) {
      limits.put("concurrent", concurrent);
    }
    for (String budget : budgets) {
      int slash = budget.indexOf('/');
      try {
        ArrayNode list = limits.withArray("budgets");
        list.addObject()
            .put("tokens", Long.parseLong(budget.substring(0, Math.max(slash, 0))))
            .put("window", budget.substring(slash + 1));
      } catch (NumberFormatException malformed) {
        throw new AdminFailedException("--budget has to be tokens and a window such as 1000000/1d, not " + budget);
      }
    }
    return limits;
  }

  private static void put(ObjectNode entry, String name, @Nullable String value) {
    if (value != null) {
      entry.put(name, value);
    }
  }
}
