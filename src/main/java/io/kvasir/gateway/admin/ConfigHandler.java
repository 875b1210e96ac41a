package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * {@code /admin/config}: every setting that is in effect on this node, with the file and line it comes from and without
 * what is secret; {@code path} narrows it down to those below one, {@code set} to those that have been set.
 * Thread-safe.
 */
public final class ConfigHandler implements AdminResource {
  /** Where a setting's value comes from. */
  public enum Source {
    /** Kvasir's own defaults. */
    DEFAULT,
    /** The operator's file, or one that it includes. */
    FILE,
    /** A variable of the environment. */
    ENVIRONMENT,
    /** The command that was started. */
    COMMAND
  }

  /**
   * A setting that is in effect.
   *
   * @param path its name in full, such as {@code kvasir.pods[0].url}
   * @param value its value, secrets included
   * @param source where its value comes from
   * @param from file and line or the like, empty when it is not known
   */
  public record Setting(String path, JsonNode value, Source source, String from) {
    /** Its value without what is secret in it. */
    public JsonNode shown() {
      return SecretMask.masked(path, value);
    }
  }

  private final Supplier<List<Setting>> settings;

  /**
   * Over a node's settings.
   *
   * @param settings those in effect, in the order of their names
   */
  public ConfigHandler(Supplier<List<Setting>> settings) {
    this.settings = settings;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/config", this::shown).with("path", "set"));
  }

  private AdminResponse shown(AdminRequest request) throws AdminException {
    String path = request.parameter("path");
    boolean set = flag(request, "set");
    ObjectNode body = object();
    ArrayNode list = body.putArray("settings");
    for (Setting setting : settings.get()) {
      if ((path == null || isBelow(setting.path(), path)) && (!set || setting.source() != Source.DEFAULT)) {
        ObjectNode entry = list.addObject().put("path", setting.path());
        entry.set("value", setting.shown());
        entry.put("source", setting.source().name().toLowerCase(Locale.ROOT)).put("from", setting.from());
      }
    }
    if (path != null && !set && list.isEmpty()) {
      throw AdminException.of(404, "there is no setting '" + path + "'; without ?path all of them are shown");
    }
    return AdminResponse.ok(body);
  }

  private static boolean flag(AdminRequest request, String name) throws AdminException {
    String value = request.parameter(name);
    if (value == null || value.equals("false")) {
      return false;
    }
    if (value.equals("true")) {
      return true;
    }
    throw AdminException.invalid(name, name + " has to be true or false, not '" + value + "'");
  }

  /** With or without the {@code kvasir} that every setting's name begins with. */
  private static boolean isBelow(String setting, String path) {
    String whole = path.equals("kvasir") || path.startsWith("kvasir.") ? path : "kvasir." + path;
    return setting.equals(whole) || setting.startsWith(whole + ".") || setting.startsWith(whole + "[");
  }
}
