package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code kvasir admin profiles}. */
@Command(
    name = "profiles",
    description = "Shows routing profiles as they are in service, and reloads them.",
    subcommands = {ProfilesCommand.Show.class, ProfilesCommand.Reload.class})
final class ProfilesCommand extends GroupCommand {
  private static final String PATH = "/admin/profiles";

  /** {@code kvasir admin profiles show}. */
  @Command(
      name = "show",
      description = "Prints the profiles and who goes by which; of one its stages, weights and slots.",
      mixinStandardHelpOptions = true)
  static final class Show extends AdminRequestCommand {
    @Parameters(arity = "0..1", paramLabel = "PROFILE", description = "Its name; without it all are listed.")
    private @Nullable String name;

    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      JsonNode all = client.get(PATH);
      if (name == null) {
        return all;
      }
      List<String> names = new ArrayList<>();
      for (JsonNode profile : all.path("profiles")) {
        names.add(profile.path("name").asText());
        if (names.getLast().equals(name)) {
          return profile;
        }
      }
      throw new AdminFailedException(
          "there is no profile '" + name + "'; there are " + String.join(", ", names));
    }

    @Override
    String format(JsonNode answer) {
      return name == null ? listed(answer) : detailed(answer, "");
    }

    private static String listed(JsonNode answer) {
      Table table = new Table("PROFILE", "FOR", "WHAT IT DOES");
      for (JsonNode profile : answer.path("profiles")) {
        String name = profile.path("name").asText();
        table.row(name, users(name, answer.path("choice")), profile.path("description").asText());
      }
      return table.toString();
    }

    private static String users(String profile, JsonNode choice) {
      List<String> users = new ArrayList<>();
      if (choice.path("standard").asText().equals(profile)) {
        users.add("everybody else");
      }
      for (String kind : List.of("models", "tenants")) {
        for (Map.Entry<String, JsonNode> chosen : choice.path(kind).properties()) {
          if (chosen.getValue().asText().equals(profile)) {
            users.add(kind.substring(0, kind.length() - 1) + " " + chosen.getKey());
          }
        }
      }
      return String.join(", ", users);
    }

    private static String detailed(JsonNode profile, String step) {
      StringBuilder text = new StringBuilder();
      text.append(step.isEmpty() ? "" : "step " + step + ": ").append(profile.path("name").asText()).append(": ")
          .append(profile.path("description").asText()).append('\n');
      for (Map.Entry<String, JsonNode> each : profile.path("steps").properties()) {
        text.append('\n').append(detailed(each.getValue(), each.getKey()));
      }
      if (profile.has("stages")) {
        Table plugins = new Table("STAGE", "PLUGIN", "WEIGHT", "PARAMETERS", "FROM");
        for (Map.Entry<String, JsonNode> stage : profile.path("stages").properties()) {
          for (JsonNode plugin : stage.getValue()) {
            plugins.row(
                stage.getKey(),
                plugin.path("plugin").asText(),
                plugin.path("weight").asText(""),
                plugin.path("parameters").isEmpty() ? "" : plugin.path("parameters").toString(),
                plugin.path("from").asText());
          }
        }
        Table slots = new Table("SLOT", "WRITTEN BY", "READ BY");
        for (JsonNode slot : profile.path("slots")) {
          slots.row(
              slot.path("slot").asText(),
              FleetTables.texts(slot.path("written_by")),
              FleetTables.texts(slot.path("read_by")));
        }
        text.append('\n').append(plugins).append('\n').append(slots);
      }
      return text.toString();
    }
  }

  /** {@code kvasir admin profiles reload}. */
  @Command(
      name = "reload",
      description = "Reloads the node's profiles; with a fault nothing changes, and every fault is listed.",
      mixinStandardHelpOptions = true)
  static final class Reload extends AdminRequestCommand {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.post(PATH + "/reload", null);
    }

    @Override
    String format(JsonNode answer) {
      if (answer.path("result").asText().equals("unchanged")) {
        return "nothing has changed\n";
      }
      StringBuilder text = new StringBuilder();
      for (String what : List.of("added", "removed", "changed")) {
        if (!answer.path(what).isEmpty()) {
          text.append(what).append(": ").append(FleetTables.texts(answer.path(what))).append('\n');
        }
      }
      if (answer.path("choice_changed").asBoolean()) {
        text.append("who goes by which has changed\n");
      }
      return text.toString();
    }
  }
}
