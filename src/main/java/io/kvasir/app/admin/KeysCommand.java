package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.KeyDigest;
import io.kvasir.app.terminal.Table;
import io.kvasir.gateway.admin.KeyJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir keys}. */
@Command(
    name = "keys",
    description = "Lists, creates, disables and rotates clients' keys, of a running router or in a file.",
    subcommands = {
      KeysCommand.ListAll.class,
      CreateKeyCommand.class,
      KeysCommand.Disable.class,
      KeysCommand.Enable.class,
      KeysCommand.Rotate.class,
      KeysCommand.Delete.class,
      KeysCommand.Digest.class
    },
    footer = {
      "",
      "With --file FILE a file of keys is edited, which routers reload (kvasir.access.keys-file).",
      "Without it the router at --management changes keys on every node of its cluster."
    })
public final class KeysCommand extends GroupCommand {
  private static String state(JsonNode answer) {
    return "%s: %s%n".formatted(answer.at("/key/id").asText(), answer.at("/key/state").asText());
  }

  /** {@code kvasir keys list}. */
  @Command(
      name = "list",
      description = "Prints every key: whose it is, its state and what limits it.",
      mixinStandardHelpOptions = true)
  static final class ListAll extends KeyCommand {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.get(PATH);
    }

    @Override
    JsonNode edit(KeysFile keys) {
      ObjectNode all = JsonNodeFactory.instance.objectNode();
      Instant now = Instant.now();
      keys.keys().forEach(key -> all.withArray("keys").add(KeyJson.key(key, now)));
      return all;
    }

    @Override
    String format(JsonNode answer) {
      Table table = new Table("KEY", "TENANT", "STATE", "SHA-256", "FROM", "UNTIL", "MODELS", "LIMITS");
      for (JsonNode key : answer.path("keys")) {
        table.row(
            key.path("id").asText(),
            key.path("tenant").asText(),
            key.path("state").asText(),
            key.path("digest").asText() + "...",
            key.path("source").asText(),
            key.path("not_after").asText(),
            FleetTables.texts(key.path("models")),
            limits(key.path("limits")));
      }
      return table.toString();
    }

    private static String limits(JsonNode limits) {
      List<String> all = new ArrayList<>();
      for (Map.Entry<String, JsonNode> limit : limits.properties()) {
        if (limit.getValue().isValueNode()) {
          all.add(limit.getKey().replace('_', ' ') + " " + limit.getValue().asText());
        }
      }
      for (JsonNode budget : limits.path("budgets")) {
        all.add("%s tokens in %s".formatted(
            budget.path("tokens").asText(), Duration.ofSeconds(budget.path("window_seconds").asLong())));
      }
      return String.join(", ", all);
    }
  }

  /** A command about one key. */
  abstract static class OfOneKey extends KeyCommand {
    @Parameters(paramLabel = "KEY", description = "Its id.")
    private String id = "";

    final String id() {
      return id;
    }

    @Override
    String format(JsonNode answer) {
      return state(answer);
    }
  }

  /** {@code kvasir keys disable}. */
  @Command(name = "disable", description = "Has a key refused, wherever it is from.", mixinStandardHelpOptions = true)
  static final class Disable extends OfOneKey {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(path(id()) + "/disable", null);
    }

    @Override
    JsonNode edit(KeysFile keys) throws AdminFailedException {
      return answered(keys.setDisabled(id(), true));
    }
  }

  /** {@code kvasir keys enable}. */
  @Command(name = "enable", description = "Has a disabled key accepted again.", mixinStandardHelpOptions = true)
  static final class Enable extends OfOneKey {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(path(id()) + "/enable", null);
    }

    @Override
    JsonNode edit(KeysFile keys) throws AdminFailedException {
      return answered(keys.setDisabled(id(), false));
    }
  }

  /** {@code kvasir keys rotate}. */
  @Command(
      name = "rotate",
      description = "Gives a key a new text, and prints it once.",
      mixinStandardHelpOptions = true)
  static final class Rotate extends OfOneKey {
    @Option(
        names = "--overlap",
        paramLabel = "DURATION",
        defaultValue = "0 s",
        converter = DurationConverter.class,
        description = "How long the text before remains valid, such as 1h or 2d (${DEFAULT-VALUE}).")
    private Duration overlap = Duration.ZERO;

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(path(id()) + "/rotate?overlap_seconds=" + overlap.toSeconds(), null);
    }

    @Override
    JsonNode edit(KeysFile keys) throws AdminFailedException {
      return answered(keys.rotate(id(), overlap));
    }

    @Override
    String format(JsonNode answer) {
      return "%s: rotated%n%s".formatted(answer.at("/key/id").asText(), secret(answer));
    }
  }

  /** {@code kvasir keys delete}. */
  @Command(name = "delete", description = "Deletes a key for good.", mixinStandardHelpOptions = true)
  static final class Delete extends OfOneKey {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.delete(path(id()));
    }

    @Override
    JsonNode edit(KeysFile keys) throws AdminFailedException {
      return answered(keys.delete(id()));
    }

    @Override
    String format(JsonNode answer) {
      return "%s: deleted%n".formatted(answer.at("/key/id").asText());
    }
  }

  /** {@code kvasir keys digest}. */
  @Command(
      name = "digest",
      description = "Reads a key from standard input and prints its SHA-256, as entries of keys have it.",
      mixinStandardHelpOptions = true)
  static final class Digest implements Callable<Integer> {
    @Override
    public Integer call() throws IOException, AdminFailedException {
      String key = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).strip();
      if (key.isEmpty()) {
        throw new AdminFailedException("there is no key on standard input: kvasir keys digest < FILE");
      }
      System.out.println(KeyDigest.of(key).hex());
      return 0;
    }
  }
}
