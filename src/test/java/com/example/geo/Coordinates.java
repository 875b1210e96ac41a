package com.example.geo;

import org.jspecify.annotations.Nullable;

/**
 * A place on the globe.
 *
 * @param latitude in degrees, -90 to 90
 * @param longitude in degrees, -180 to 180
 */
record Coordinates(double latitude, double longitude) {
  private static final double EARTH_RADIUS_KM = 6371;

  /** Reads {@code 59.33,18.07}; null when it is nothing of the kind. */
  static @Nullable Coordinates of(@Nullable String text) {
    String[] parts = text == null ? new String[0] : text.split(",", -1);
    if (parts.length != 2) {
      return null;
    }
    try {
      Coordinates place =
          new Coordinates(Double.parseDouble(parts[0].strip()), Double.parseDouble(parts[1].strip()));
      return Math.abs(place.latitude) <= 90 && Math.abs(place.longitude) <= 180 ? place : null;
    } catch (NumberFormatException none) {
      return null;
    }
  }

  /** Kilometres along the great circle, by the haversine formula. */
  double kilometresTo(Coordinates other) {
    double here = Math.toRadians(latitude);
    double there = Math.toRadians(other.latitude);
    double north = Math.sin((there - here) / 2);
    double east = Math.sin(Math.toRadians(other.longitude - longitude) / 2);
    double haversine = north * north + Math.cos(here) * Math.cos(there) * east * east;
    return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(haversine)));
  }
}
