package io.kvasir.admission;

/**
 * The requests of a class that wait.
 *
 * @param length how many
 * @param bytes the memory that they take
 * @param tokens that workers will have to compute, as far as is known
 * @param oldestMillis how long the first of them has waited, 0 when nobody does
 */
public record ClassStatus(ServiceClass serviceClass, int length, long bytes, long tokens, long oldestMillis) {}
