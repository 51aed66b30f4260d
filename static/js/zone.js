// Tells pages the time zone of this browser, until its user has chosen one.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

if (zone && !document.cookie.includes(`bigmind_zone=${zone}`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `bigmind_zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
}
