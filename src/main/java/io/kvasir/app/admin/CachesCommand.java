package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.terminal.Table;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir admin caches}. */
@Command(
    name = "caches",
    description = "Shows what the response cache keeps, and forgets it.",
    subcommands = {CachesCommand.Show.class, CachesCommand.Flush.class})
final class CachesCommand extends GroupCommand {
  private static final String PATH = "/admin/cache";

  /** {@code kvasir admin caches show}. */
  @Command(
      name = "show",
      description = "Prints the node's figures of its response cache.",
      mixinStandardHelpOptions = true)
  static final class Show extends AdminRequestCommand {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.get(PATH);
    }

    @Override
    String format(JsonNode answer) {
      Table table = new Table("FIGURE", "VALUE");
      answer.properties().forEach(figure -> {
        if (figure.getValue().isValueNode()) {
          table.row(figure.getKey().replace('_', ' '), figure.getValue().asText());
        }
      });
      answer.path("bypassed").properties().forEach(why -> {
        if (why.getValue().asLong() > 0) {
          table.row("bypassed: " + why.getKey(), why.getValue().asText());
        }
      });
      return table.toString();
    }
  }

  /** {@code kvasir admin caches flush}. */
  @Command(
      name = "flush",
      description = "Forgets kept answers. A node that keeps them in its memory forgets its own.",
      mixinStandardHelpOptions = true)
  static final class Flush extends AdminRequestCommand {
    @ArgGroup(multiplicity = "1")
    private FlushTarget which = new FlushTarget();

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(PATH + "/flush", which.body());
    }

    @Override
    String format(JsonNode answer) {
      return answer.has("forgotten") ? answer.path("forgotten").asText() + " answers are forgotten\n"
          : "they are forgotten\n";
    }
  }

  /** Which answers. */
  static final class FlushTarget {
    @Option(names = "--all", required = true, description = "All of them.")
    private boolean all;

    @ArgGroup(exclusive = false, multiplicity = "1")
    private @Nullable FlushSelection limits;

    ObjectNode body() {
      ObjectNode body = JsonNodeFactory.instance.objectNode();
      if (all) {
        body.put("all", true);
      }
      if (limits != null && limits.tenant != null) {
        body.put("tenant", limits.tenant);
      }
      if (limits != null && limits.model != null) {
        body.put("model", limits.model);
      }
      return body;
    }
  }

  /** Those of one tenant, of one model, or of one tenant's requests for one model. */
  static final class FlushSelection {
    @Option(names = "--tenant", paramLabel = "NAME", description = "A tenant's, such as key-2bb80d537b1da3e3.")
    private @Nullable String tenant;

    @Option(names = "--model", paramLabel = "NAME", description = "A model's.")
    private @Nullable String model;
  }
}
