/* RFC 6265 §5.1.1: dates as servers write them, in any order and with any punctuation. */
#include "http/cookie.h"

#define NOT_FOUND (-1)

struct date {
    int year, month, day, hour, minute, second;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_delimiter(char c)
{
    return c == '\t' || (c >= ' ' && c <= '/') || (c >= ';' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Takes min to max digits off the front of *s; false if there are fewer or more. */
static bool take_number(struct str *s, size_t min, size_t max, int *out)
{
    size_t n = 0;
    int value = 0;

    for (; n < s->n && n <= max && is_digit(s->p[n]); n++)
        value = value * 10 + (s->p[n] - '0');
    if (n < min || n > max)
        return false;
    *s = str_skip(*s, n);
    *out = value;
    return true;
}

/* A token may go on after its number, with anything but a digit. */
static bool read_time(struct str token, struct date *date)
{
    int part[3];

    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            if (token.n == 0 || *token.p != ':')
                return false;
            token = str_skip(token, 1);
        }
        if (!take_number(&token, 1, 2, &part[i]))
            return false;
    }
    date->hour = part[0];
    date->minute = part[1];
    date->second = part[2];
    return true;
}

static bool read_month(struct str token, int *month)
{
    static const char names[12][4] = {"jan", "feb", "mar", "apr", "may", "jun",
                                      "jul", "aug", "sep", "oct", "nov", "dec"};

    for (int i = 0; i < 12; i++)
        if (token.n >= 3 && str_eq_nocase((struct str){token.p, 3}, (struct str){names[i], 3})) {
            *month = i + 1;
            return true;
        }
    return false;
}

/* Each kind of token counts once, the first time that it is seen; the rest is passed over. */
static void read_token(struct str token, struct date *date)
{
    if (date->hour == NOT_FOUND && read_time(token, date))
        return;
    if (date->day == NOT_FOUND && take_number(&token, 1, 2, &date->day))
        return;
    if (date->month == NOT_FOUND && read_month(token, &date->month))
        return;
    if (date->year == NOT_FOUND && take_number(&token, 2, 4, &date->year)) {
        if (date->year < 70)
            date->year += 2000;
        else if (date->year < 100)
            date->year += 1900;
    }
}

static int month_days(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* Days from 1 January 1970 in the Gregorian calendar. */
static int64_t count_days(const struct date *date)
{
    int64_t before = date->year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;

    for (int month = 1; month < date->month; month++)
        days += month_days(date->year, month);
    return days + date->day - 1;
}

bool cookie_date(struct str text, int64_t *seconds)
{
    struct date date = {NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND};

    while (text.n > 0) {
        size_t n = 0;
        while (n < text.n && !is_delimiter(text.p[n]))
            n++;
        if (n > 0)
            read_token((struct str){text.p, n}, &date);
        text = str_skip(text, n + 1);
    }
    if (date.hour == NOT_FOUND || date.day == NOT_FOUND || date.month == NOT_FOUND ||
        date.year == NOT_FOUND)
        return false;
    if (date.year < 1601 || date.day < 1 || date.day > month_days(date.year, date.month) ||
        date.hour > 23 || date.minute > 59 || date.second > 59)
        return false;
    *seconds = count_days(&date) * 86400 + date.hour * 3600 + date.minute * 60 + date.second;
    return true;
}
