package io.kvasir.programs;

import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads what requests say of their programs. Names are cut at {@value #MAX_LENGTH} characters and follow the tenant's,
 * so that tenants cannot name each other's programs. Thread-safe.
 */
public final class ProgramReader {
  static final int MAX_LENGTH = 128;

  private final ProgramSources sources;

  /** A reader of these headers and fields. */
  public ProgramReader(ProgramSources sources) {
    this.sources = sources;
  }

  /**
   * What a request says.
   *
   * @param header the value of a header, null when the request does not have it or it is blank
   * @param field the value of a field of the body by its path, likewise
   * @param tenant whose request it is
   */
  public ProgramMark read(
      Function<String, @Nullable String> header, Function<String, @Nullable String> field, String tenant) {
    String program = first(sources.headers(), header, sources.fields(), field);
    if (program == null) {
      return ProgramMark.NONE;
    }
    String parent = first(sources.parentHeaders(), header, sources.parentFields(), field);
    return new ProgramMark(
        scoped(tenant, program),
        parent == null || parent.equals(program) ? null : scoped(tenant, parent),
        isLast(header));
  }

  private static @Nullable String first(
      List<String> headers,
      Function<String, @Nullable String> header,
      List<String> fields,
      Function<String, @Nullable String> field) {
    for (String name : headers) {
      String value = header.apply(name);
      if (value != null) {
        return value;
      }
    }
    for (String path : fields) {
      String value = field.apply(path);
      if (value != null) {
        return value;
      }
    }
    return null;
  }

  private boolean isLast(Function<String, @Nullable String> header) {
    for (String name : sources.lastHeaders()) {
      String value = header.apply(name);
      if (value != null) {
        String plain = value.strip().toLowerCase(Locale.ROOT);
        return plain.equals("true") || plain.equals("1");
      }
    }
    return false;
  }

  private static String scoped(String tenant, String name) {
    return tenant + "/" + (name.length() <= MAX_LENGTH ? name : name.substring(0, MAX_LENGTH));
  }
}
