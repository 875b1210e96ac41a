package io.kvasir.prompt.template;

/** A token of template source: {@code text} is the data, name, unescaped string, number or operator. */
record Token(Type type, String text, int line) {
  enum Type {
    DATA,
    BLOCK_BEGIN,
    BLOCK_END,
    VARIABLE_BEGIN,
    VARIABLE_END,
    NAME,
    STRING,
    INTEGER,
    FLOAT,
    OPERATOR,
    END
  }

  boolean is(String operator) {
    return type == Type.OPERATOR && text.equals(operator);
  }

  boolean isName(String name) {
    return type == Type.NAME && text.equals(name);
  }

  /** The token's description in errors. */
  String describe() {
    return switch (type) {
      case BLOCK_BEGIN -> "'{%'";
      case BLOCK_END -> "'%}'";
      case VARIABLE_BEGIN -> "'{{'";
      case VARIABLE_END -> "'}}'";
      case END -> "the end of the template";
      case DATA -> "text";
      case STRING -> "a string";
      case NAME, INTEGER, FLOAT, OPERATOR -> "'" + text + "'";
    };
  }
}
